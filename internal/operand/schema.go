package operand

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"

	apiextensions "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/lru"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/operator-status/operator-status/api/operators/v1alpha1"
	"github.com/operator-status/operator-status/internal/expression"
	"github.com/operator-status/operator-status/internal/messages"
	"github.com/operator-status/operator-status/internal/status/condition"
)

// Schemas finds terms of expressions that are unknown for every custom resource, because the schema of its
// CustomResourceDefinition has no such field or value. It is safe for concurrent use.
type Schemas struct {
	live    client.Reader
	answers *lru.Cache // by question
}

// question is a comparison, or the name of a term about conditions, for one generation of a CustomResourceDefinition.
type question struct {
	crd        types.UID
	generation int64
	about      string
}

// questionOf returns the question whose answer a term needs: for all condition types it is the same.
func questionOf(crd *apiextensions.CustomResourceDefinition, term string) question {
	out := question{crd.UID, crd.Generation, term}
	if expression.IsConditionType(term) && term != expression.Settled {
		out.about = expression.PathText(conditionsPath)
	}
	return out
}

// maxAnswers limits the memory for answers, which are short.
const maxAnswers = 4096

// NewSchemas returns Schemas that read CustomResourceDefinitions from the API server: the cache has them without schemas.
func NewSchemas(live client.Reader) *Schemas {
	return &Schemas{live: live, answers: lru.New(maxAnswers)}
}

// Problems returns a Problem for the terms that are unknown for every custom resource, if any, for each cause.
func (s *Schemas) Problems(ctx context.Context, crd *apiextensions.CustomResourceDefinition, terms []string) (out []condition.Problem, err error) {
	var full *apiextensions.CustomResourceDefinition
	byCause := map[string][]string{}
	for _, term := range terms {
		cause, known := s.answers.Get(questionOf(crd, term))
		if !known {
			if full == nil {
				full = &apiextensions.CustomResourceDefinition{}
				if err := s.live.Get(ctx, client.ObjectKeyFromObject(crd), full); err != nil {
					return nil, client.IgnoreNotFound(err)
				}
			}
			cause = mismatch(full, term)
			s.answers.Add(questionOf(full, term), cause)
		}
		byCause[cause.(string)] = append(byCause[cause.(string)], term)
	}
	delete(byCause, "")
	for _, cause := range slices.Sorted(maps.Keys(byCause)) {
		out = append(out, condition.Problem{Reason: v1alpha1.ReasonFieldNotFound, Message: fmt.Sprintf(
			"%s can never be true or false of a %s: %s", messages.List(byCause[cause], mostNamed, ", "), crd.Spec.Names.Kind, cause)})
	}
	return out, nil
}

// mostNamed limits the terms and values in a message.
const mostNamed = 10

// mismatch returns why a term is unknown for every custom resource, or "".
func mismatch(crd *apiextensions.CustomResourceDefinition, term string) string {
	version := ServedVersion(crd)
	i := slices.IndexFunc(crd.Spec.Versions, func(v apiextensions.CustomResourceDefinitionVersion) bool { return v.Name == version })
	if i < 0 || crd.Spec.Versions[i].Schema == nil || crd.Spec.Versions[i].Schema.OpenAPIV3Schema == nil {
		return ""
	}
	cause := mismatchOf(crd.Spec.Versions[i].Schema.OpenAPIV3Schema, term)
	if cause != "" {
		cause = "in version " + version + " " + cause
	}
	return cause
}

var (
	conditionsPath         = []expression.Step{{Member: "status"}, {Member: "conditions"}}
	observedGenerationPath = []expression.Step{{Member: "status"}, {Member: "observedGeneration"}}
)

func mismatchOf(schema *apiextensions.JSONSchemaProps, term string) string {
	c, isComparison := expression.ParseTerm(term)
	if !isComparison {
		_, missing := find(schema, conditionsPath)
		if missing != "" && term == expression.Settled {
			_, missing = find(schema, observedGenerationPath)
		}
		return missing
	}
	for _, f := range c.Fields() {
		path := f.Path
		if f.Condition != "" {
			path = conditionsPath
		}
		field, missing := find(schema, path)
		switch {
		case missing != "":
			return missing
		case field == nil || f.Condition != "":
			continue
		case field.Type == "object" || field.Type == "array":
			return fmt.Sprintf("%s is an %s", expression.PathText(path), field.Type)
		}
		if never := neverEqual(field, c); never != "" {
			return never
		}
	}
	return ""
}

// find returns the schema of the field with a path, nil if it may have any value, or that it is missing.
func find(schema *apiextensions.JSONSchemaProps, path []expression.Step) (field *apiextensions.JSONSchemaProps, missing string) {
	if path[0].Member == "metadata" {
		return nil, "" // of the same schema in all custom resources
	}
	field = schema
	for n, step := range path {
		if isOpen(field) {
			return nil, ""
		}
		if field = below(field, step); field == nil {
			return nil, "there is no field " + expression.PathText(path[:n+1])
		}
	}
	if isOpen(field) {
		return nil, ""
	}
	return field, ""
}

// isOpen reports whether a field may have any value.
func isOpen(s *apiextensions.JSONSchemaProps) bool {
	return s.XPreserveUnknownFields != nil && *s.XPreserveUnknownFields || s.XEmbeddedResource || s.XIntOrString || s.Type == ""
}

// below returns the schema one step below a field, or nil.
func below(s *apiextensions.JSONSchemaProps, step expression.Step) *apiextensions.JSONSchemaProps {
	if step.Member == "" {
		if s.Items == nil {
			return nil
		}
		return s.Items.Schema
	}
	if member, ok := s.Properties[step.Member]; ok {
		return &member
	}
	if s.AdditionalProperties == nil {
		return nil
	}
	return s.AdditionalProperties.Schema
}

// neverEqual returns that a field never has any of the texts that it is compared with, or "". It may have had others in another version of
// the operator.
func neverEqual(field *apiextensions.JSONSchemaProps, c expression.Comparison) string {
	if len(field.Enum) == 0 {
		return ""
	}
	var texts, values []string
	for _, v := range field.Enum {
		var text string
		if json.Unmarshal(v.Raw, &text) != nil {
			return ""
		}
		texts, values = append(texts, text), append(values, strconv.Quote(text))
	}
	var never []string
	for _, v := range c.Texts() {
		if slices.Contains(texts, v) {
			return ""
		}
		never = append(never, strconv.Quote(v))
	}
	if len(never) == 0 {
		return ""
	}
	return fmt.Sprintf("the field is never %s, it is one of %s", messages.List(never, mostNamed, " or "), messages.List(values, mostNamed, ", "))
}
