// Command reference writes the reference documentation from the code: the conditions and reasons, the labels and
// annotations, and the fields of the API.
//
// Usage: reference REPOSITORY OUTPUT_FOLDER
package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "reference:", err)
		os.Exit(1)
	}
}

func run(args []string) error {
	if len(args) != 2 {
		return errors.New("usage: reference REPOSITORY OUTPUT_FOLDER")
	}
	pages, err := generate(args[0])
	if err != nil {
		return err
	}
	if err := os.MkdirAll(args[1], 0o755); err != nil {
		return err
	}
	for name, text := range pages {
		if err := os.WriteFile(filepath.Join(args[1], name), []byte(text), 0o644); err != nil {
			return err
		}
	}
	return nil
}

// generate returns the pages, by file name.
func generate(repository string) (map[string]string, error) {
	var groups []group
	for _, folder := range []string{"operators", "hold", "platform", "policy"} {
		read, err := readConstants(filepath.Join(repository, "api", folder, "v1alpha1"))
		if err != nil {
			return nil, err
		}
		groups = append(groups, read...)
	}
	conditions, err := conditionsPage(groups)
	if err != nil {
		return nil, err
	}
	fields, err := fieldsPage(filepath.Join(repository, "config"))
	if err != nil {
		return nil, err
	}
	return map[string]string{"conditions.md": conditions, "annotations.md": annotationsPage(groups), "api.md": fields}, nil
}
