package v1alpha1

import "slices"

// OperatorMatch selects operators. An operator has to match each field that is set.
type OperatorMatch struct {
	// Packages are names of packages in catalogs, from which OLM installed the operators.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=256
	// +kubebuilder:validation:items:MaxLength=253
	Packages []string `json:"packages,omitempty"`

	// Namespaces are those that the operators are installed in.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=256
	// +kubebuilder:validation:items:MaxLength=63
	Namespaces []string `json:"namespaces,omitempty"`

	// Installers are the programs that installed the operators: OLM, OLMv1, Helm, or Workload for any other.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=4
	// +kubebuilder:validation:items:Enum=OLM;OLMv1;Helm;Workload
	Installers []Installer `json:"installers,omitempty"`
}

// Matches reports whether an operator that was installed in a namespace from a package, which is empty if there is none or it is not
// known, is one that the policy is restricted to.
func (m *OperatorMatch) Matches(by Installer, namespace, pkg string) bool {
	return m == nil ||
		(len(m.Packages) == 0 || slices.Contains(m.Packages, pkg)) &&
			(len(m.Namespaces) == 0 || slices.Contains(m.Namespaces, namespace)) &&
			(len(m.Installers) == 0 || slices.Contains(m.Installers, by))
}
