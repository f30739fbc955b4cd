package main

import (
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// group is a block of constants, with the comment that they share.
type group struct {
	file      string
	doc       string
	constants []constant
}

// constant is a documented constant. Its doc begins with its name.
type constant struct{ name, value, doc string }

// readConstants returns the blocks of constants in a Go package with those that are strings, in the order of the files.
func readConstants(folder string) ([]group, error) {
	paths, err := filepath.Glob(filepath.Join(folder, "*.go"))
	if err != nil {
		return nil, err
	}
	var out []group
	values := map[string]string{}
	for _, path := range paths {
		if strings.HasSuffix(path, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.ParseComments)
		if err != nil {
			return nil, err
		}
		for _, declaration := range file.Decls {
			if d, ok := declaration.(*ast.GenDecl); ok && d.Tok == token.CONST && d.Lparen.IsValid() {
				g := group{file: filepath.Base(path), doc: oneLine(d.Doc.Text()), constants: constantsIn(d)}
				out = append(out, g)
				for _, c := range g.constants {
					values[c.name] = c.value
				}
			}
		}
	}
	if len(out) == 0 {
		return nil, fmt.Errorf("%s has no constants", folder)
	}
	for i := range out {
		out[i].doc = named(out[i].doc, "", values)
		for k, c := range out[i].constants {
			out[i].constants[k].doc = named(c.doc, c.name, values)
		}
	}
	return out, nil
}

func constantsIn(d *ast.GenDecl) []constant {
	var out []constant
	for _, spec := range d.Specs {
		s, ok := spec.(*ast.ValueSpec)
		if !ok || len(s.Values) != 1 {
			continue
		}
		literal, ok := s.Values[0].(*ast.BasicLit)
		if !ok || literal.Kind != token.STRING {
			continue
		}
		value, err := strconv.Unquote(literal.Value)
		if err != nil {
			continue // it would not compile
		}
		out = append(out, constant{name: s.Names[0].Name, value: value, doc: oneLine(s.Doc.Text())})
	}
	return out
}

var identifier = regexp.MustCompile(`\b[A-Z]\w+\b`)

// named replaces the names of constants in a comment with their values, but for the name that the comment is about.
func named(doc, about string, values map[string]string) string {
	return identifier.ReplaceAllStringFunc(doc, func(name string) string {
		if value, ok := values[name]; ok && name != about {
			return "`" + value + "`"
		}
		return name
	})
}

// kinds are the kinds with conditions, in the order of the page.
var kinds = []string{
	"Probe", "Subscription", "InstallPlan", "ClusterServiceVersion", "CatalogSource", "OperatorCondition", "UpgradeHold", "ProbePolicy", "ImagePolicy", "ClusterExtension",
	"PlatformOperator", "ClusterOperator", events,
}

const events = "Events"

var ofKind = regexp.MustCompile(`\ban? ([A-Z]\w+)|\b(Events)\b`)

// kindOf returns the kind that a block of constants is about: the first that its comment names.
func kindOf(g group) (string, error) {
	for _, found := range ofKind.FindAllStringSubmatch(g.doc, -1) {
		if kind := found[1] + found[2]; slices.Contains(kinds, kind) {
			return kind, nil
		}
	}
	return "", fmt.Errorf("this comment of constants names none of the kinds %s: %q", strings.Join(kinds, ", "), g.doc)
}

// remedyMark separates the meaning of a reason from its remedy in a comment.
const remedyMark = " Remedy: "

// conditionsPage returns the page with all condition types and reasons. It fails if a reason has no remedy.
func conditionsPage(groups []group) (string, error) {
	sections := map[string][]string{}
	var errs []error
	for _, g := range groups {
		isType, isReason := strings.HasPrefix(g.doc, "Condition type"), strings.HasPrefix(g.doc, "Reason")
		if !isType && !isReason {
			if strings.HasSuffix(g.file, "_conditions.go") && !strings.HasPrefix(g.doc, "Actions") {
				errs = append(errs, fmt.Errorf("%s: this comment begins with neither Condition type nor Reason: %q", g.file, g.doc))
			}
			continue
		}
		kind, err := kindOf(g)
		if err != nil {
			errs = append(errs, err)
			continue
		}
		table := "| Condition | Meaning |\n|---|---|\n"
		if isReason {
			table = "| Reason | Cause | Remedy |\n|---|---|---|\n"
		}
		for _, c := range g.constants {
			meaning, remedy, found := strings.Cut(meaningOf(c), remedyMark)
			if isReason && !found {
				errs = append(errs, fmt.Errorf("the comment of %s has no %q: add the remedy, or why none is needed", c.name, strings.TrimSpace(remedyMark)))
			}
			table += "| `" + c.value + "` | " + cell(sentence(meaning)) + " |"
			if isReason {
				table += " " + cell(sentence(remedy)) + " |"
			}
			table += "\n"
		}
		sections[kind] = append(sections[kind], "### "+titleOf(g)+"\n\n"+escape(g.doc)+"\n\n"+table)
	}
	var out strings.Builder
	out.WriteString(page("Conditions and reasons", "The message beside a reason names the objects that it is about. "+
		"`kubectl operator-status why NAME` prints what blocks an operator, and the next step."))
	for _, kind := range kinds {
		if len(sections[kind]) == 0 {
			errs = append(errs, fmt.Errorf("no constants found for %s", kind))
		}
		out.WriteString("\n## " + kind + "\n\n" + strings.Join(sections[kind], "\n"))
	}
	return out.String(), errors.Join(errs...)
}

var untilKind = regexp.MustCompile(`( on an? | in the | in ` + "`" + `|, |\. | that |\.$)`)

// titleOf returns the beginning of a group's comment, as a title.
func titleOf(g group) string {
	if at := untilKind.FindStringIndex(g.doc); at != nil {
		return g.doc[:at[0]]
	}
	return g.doc
}

// meaningOf returns the comment of a constant without its name and the words that follow in all of them.
func meaningOf(c constant) string {
	out := strings.TrimPrefix(c.doc, c.name+" ")
	for _, words := range []string{"means that ", "is a reason of ", "is "} {
		out = strings.TrimPrefix(out, words)
	}
	return out
}

// annotationsPage returns the page with all labels and annotations, by who sets them.
func annotationsPage(groups []group) string {
	var titles []string
	sections := map[string]string{}
	for _, g := range groups {
		title, note, _ := strings.Cut(g.doc, ". ")
		title = strings.TrimSuffix(title, ".")
		if !strings.HasPrefix(title, "Labels") && !strings.HasPrefix(title, "Annotations") {
			continue
		}
		_, by, _ := strings.Cut(title, " that ")
		by = "What " + by
		if sections[by] == "" {
			titles = append(titles, by)
			sections[by] = "\n## " + by + "\n\n"
		}
		if note != "" {
			sections[by] += escape(note) + "\n\n"
		}
		for _, c := range g.constants {
			sections[by] += "* `" + c.value + "` " + escape(strings.TrimPrefix(c.doc, c.name+" ")) + "\n"
		}
	}
	slices.Sort(titles)
	out := []string{page("Labels and annotations", "")}
	for _, title := range titles {
		out = append(out, sections[title])
	}
	return strings.Join(out, "")
}

// page returns the beginning of a page.
func page(title, introduction string) string {
	out := "<!-- Generated from the code by `make generate`. -->\n# " + title + "\n"
	if introduction != "" {
		out += "\n" + introduction + "\n"
	}
	return out
}

func oneLine(text string) string { return strings.Join(strings.Fields(text), " ") }

// sentence begins text with a capital letter.
func sentence(text string) string {
	if text == "" {
		return ""
	}
	return strings.ToUpper(text[:1]) + text[1:]
}

// escape makes text literal outside code quotes.
func escape(text string) string {
	parts := strings.Split(text, "`")
	for i := 0; i < len(parts); i += 2 {
		parts[i] = strings.NewReplacer("<", "&lt;", ">", "&gt;", "*", `\*`).Replace(parts[i])
	}
	return strings.Join(parts, "`")
}

// cell makes text fit into a cell of a table.
func cell(text string) string { return strings.ReplaceAll(escape(text), "|", `\|`) }
