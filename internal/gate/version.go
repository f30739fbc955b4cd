package gate

import (
	"fmt"

	"github.com/operator-status/operator-status/api/operators/v1alpha1"
)

// versionHold returns why the version of the target is not one that the user allows, or nil.
func (in Inputs) versionHold() *Hold {
	if in.Request == nil || in.Versions.Has(in.Version) {
		return nil
	}
	out := &Hold{
		Reason: v1alpha1.ReasonVersionNotAllowed, By: in.Request.Ref, Target: in.Target,
		Override: in.allowingOn(in.Request.Ref, in.Request.Resource, in.Request.Annotations),
	}
	annotation := "annotation " + v1alpha1.AnnotationVersion + " of " + in.Request.String()
	switch err := in.Versions.Err(); {
	case err != nil:
		out.Reason = v1alpha1.ReasonVersionInvalid
		out.Cause = fmt.Sprintf("%s allows no version: %v. The update continues when the annotation is corrected", annotation, err)
	case in.Version == "":
		out.Cause = fmt.Sprintf("%s allows versions %s, and that of %s is not known. The update continues when the annotation is removed",
			annotation, in.Versions, in.Target)
	default:
		out.Cause = fmt.Sprintf("%s allows versions %s. The update continues when the annotation allows %s", annotation, in.Versions, in.Version)
	}
	return out
}
