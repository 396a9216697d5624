package cli

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/parley-agents/parley/fault"
	"github.com/parley-agents/parley/internal/lang/aea"
	lang "github.com/parley-agents/parley/internal/lang/check"
	"github.com/parley-agents/parley/internal/lang/diag"
	"github.com/parley-agents/parley/internal/lang/gen"
	"github.com/parley-agents/parley/internal/lang/project"
)

func newGen() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "gen FILE|FOLDER...",
		Short: "Generate code and schemas from protocols",
		Long: `Generate code and schemas from sources of the language, or from protocol
specifications of the AEA framework (.yaml).

Targets:
  go             types, codecs, rules, and for each role a server and a client
  proto          proto3; of AEA protocols what open-aea's generator writes
  proto-classic  the same in the flavour of the older aea
  jsonschema     JSON Schema 2020-12
  manifest       what uAgents publish, one for each role
  aea            protocol specifications of the AEA framework
  docs           pages for people: Markdown for each protocol, and one of HTML

Files are written beside their sources, or to the folder of --out; of several
sources each to a folder of its own in that. Generated files say so in their first
line, and are the same each time. With --check nothing is written: files that
differ are listed. A file that is there and says nothing of being generated is never
overwritten. Defaults come from the nearest parley.toml:

  [gen]
  lang = ["go", "jsonschema"]
  out = "generated"         # relative to parley.toml

What a target cannot express is reported with its place in the source, and then
nothing is written.

Exit codes: 0 done, 1 errors in a source or stale files, 2 could not run.`,
		Example: `  parley gen shop.parley
  parley gen --lang go,proto,jsonschema --out generated shop.parley
  parley gen --check protocols/`,
	}
	asJSON := jsonFlag(cmd)
	langs := cmd.Flags().StringSlice("lang", nil, "what to generate: "+strings.Join(gen.Targets(), ", "))
	out := cmd.Flags().String("out", "", "folder for the files")
	check := cmd.Flags().Bool("check", false, "list files that differ, write nothing")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		plans, result, err := plansOf(cmd, args)
		if err != nil {
			return err
		}
		g := &generation{langs: *langs, out: *out, several: len(plans) > 1}
		found := result.Diagnostics
		if !found.HasErrors() {
			if err := g.emit(plans); err != nil {
				return err
			}
			found = append(found, g.found...).Tidy()
		}
		if found.HasErrors() {
			if *asJSON {
				printJSON(cmd.OutOrStdout(), map[string]any{"diagnostics": diagnosticsJSON(found)})
			} else {
				newFindings(cmd.ErrOrStderr()).print(found, result.Line)
			}
			return errReported
		}
		return g.write(cmd, *check, *asJSON)
	}
	return cmd
}

// A planOf is a plan with the source it was made from.
type planOf struct {
	*gen.Plan
	source string
}

// plansOf reads and checks sources, and specifications of AEA as if they were.
func plansOf(cmd *cobra.Command, args []string) ([]planOf, *project.Result, error) {
	var named []string
	texts := make(map[string][]byte)
	var imported []project.Source
	for _, arg := range args {
		if arg == "-" {
			return nil, nil, fault.Errorf(fault.Unsupported, "-", "what is generated is named after its source, and standard input has no name; write it to a file")
		}
		if !strings.HasSuffix(arg, ".yaml") && !strings.HasSuffix(arg, ".yml") {
			named = append(named, arg)
			continue
		}
		text, err := readInput(cmd, arg)
		if err != nil {
			return nil, nil, err
		}
		s, err := aea.Read(text)
		if err != nil {
			return nil, nil, fmt.Errorf("%s: %w", arg, err)
		}
		name := filepath.ToSlash(filepath.Clean(arg))
		texts[name] = text
		imported = append(imported, project.Source{Name: name, Text: s.Source()})
	}
	var sources []project.Source
	if len(named) > 0 {
		found, err := findSources(cmd, named, "")
		if err != nil {
			return nil, nil, err
		}
		sources = found
	}
	for _, s := range sources {
		texts[s.Name] = s.Text
	}
	result, err := project.Check(append(sources, imported...), project.Options{})
	if err != nil {
		return nil, nil, err
	}
	if result.Diagnostics.HasErrors() {
		return nil, result, nil
	}
	var plans []planOf
	for _, checked := range result.Checked {
		plans = append(plans, plansIn(checked, texts)...)
	}
	return plans, result, nil
}

// plansIn makes the plans of the files that declare anything.
func plansIn(checked *lang.Result, texts map[string][]byte) []planOf {
	var plans []planOf
	for i, file := range checked.Files {
		plan := gen.NewPlan(checked, i, texts[file.Name])
		if len(plan.Decls)+len(plan.Protocols) > 0 {
			plans = append(plans, planOf{plan, file.Name})
		}
	}
	return plans
}

// A generation is what one run of parley gen writes.
type generation struct {
	langs   []string
	out     string
	several bool
	found   diag.List
	files   []gen.File // with paths from here
}

func (g *generation) emit(plans []planOf) error {
	taken := make(map[string]string)
	packages := make(map[string]planOf) // of Go, by their folders
	sources := make(map[string]bool)
	for _, p := range plans {
		sources[filepath.FromSlash(p.source)] = true
	}
	for _, p := range plans {
		langs, folder, err := g.settings(p)
		if err != nil {
			return err
		}
		if other, twice := packages[folder]; twice && slices.Contains(langs, "go") && other.Package != p.Package {
			return fault.Errorf(fault.Conflict, p.source, "its Go is package %s, and that of %s in the same folder is package %s; with --out each has a folder of its own", p.Package, other.source, other.Package)
		}
		if slices.Contains(langs, "go") {
			packages[folder] = p
		}
		for i, target := range langs {
			if slices.Contains(langs[:i], target) {
				continue
			}
			if !slices.Contains(gen.Targets(), target) {
				return fault.Errorf(fault.NotFound, "lang", "there is no target %q%s; there are %s", target, didYouMean(target), strings.Join(gen.Targets(), ", "))
			}
			files, found := gen.Emit(target, p.Plan)
			g.found = append(g.found, found...)
			for _, f := range files {
				f.Path = filepath.Join(folder, f.Path)
				if sources[f.Path] {
					return fault.Errorf(fault.Conflict, f.Path, "it is a source, and %s would be written over it; give another folder with --out", target)
				}
				if other, twice := taken[f.Path]; twice {
					return fault.Errorf(fault.Conflict, f.Path, "it would be written for %s and for %s; give one of them another --out", other, p.source+" ("+target+")")
				}
				taken[f.Path] = p.source + " (" + target + ")"
				g.files = append(g.files, f)
			}
		}
	}
	return nil
}

func didYouMean(target string) string {
	if near := diag.Nearest(target, gen.Targets()); near != "" {
		return fmt.Sprintf(" (did you mean %q?)", near)
	}
	return ""
}

// settings are what to generate from a source, and where to.
func (g *generation) settings(p planOf) (langs []string, folder string, err error) {
	defaults, err := project.GenerationOf(p.source)
	if err != nil {
		return nil, "", err
	}
	langs, out := g.langs, g.out
	if len(langs) == 0 {
		langs = defaults.Lang
	}
	if len(langs) == 0 {
		langs = []string{"go"}
	}
	if out == "" {
		out = defaults.Out
	}
	switch {
	case out == "":
		return langs, filepath.Dir(filepath.FromSlash(p.source)), nil
	case g.several || g.out == "":
		return langs, filepath.Join(out, p.Package), nil
	}
	return langs, out, nil
}

// write writes the files that changed, or only tells which. All are read before
// the first is written.
func (g *generation) write(cmd *cobra.Command, check, asJSON bool) error {
	changed := []string{}
	var stale []gen.File
	for _, f := range g.files {
		there, err := os.ReadFile(f.Path)
		switch {
		case err != nil && !errors.Is(err, fs.ErrNotExist):
			return unwritable(f.Path, err)
		case err == nil && bytes.Equal(there, f.Text):
			continue
		case err == nil && !check && !generated(f.Path, there):
			return fault.Errorf(fault.Conflict, f.Path, "it is there and was not generated; move it, or give another folder with --out")
		}
		changed = append(changed, filepath.ToSlash(f.Path))
		stale = append(stale, f)
	}
	for _, f := range stale {
		if check {
			break
		}
		if err := os.MkdirAll(filepath.Dir(f.Path), 0o755); err != nil {
			return unwritable(f.Path, err)
		}
		if err := os.WriteFile(f.Path, f.Text, 0o644); err != nil {
			return err
		}
	}
	if asJSON {
		printJSON(cmd.OutOrStdout(), map[string]any{"files": len(g.files), "changed": changed})
	} else {
		for _, path := range changed {
			fmt.Fprintln(cmd.OutOrStdout(), path)
		}
	}
	if check && len(changed) > 0 {
		return errReported
	}
	return nil
}

// generated reports whether a file may be overwritten: it says at its beginning
// that it is generated. Manifests cannot say it.
func generated(path string, text []byte) bool {
	return len(text) == 0 || strings.HasSuffix(path, ".manifest.json") || bytes.Contains(text[:min(len(text), 200)], []byte("enerated by parley from "))
}

// unwritable says of a path which of its folders is a file.
func unwritable(path string, err error) error {
	for folder := filepath.Dir(path); errors.Is(err, syscall.ENOTDIR) && folder != filepath.Dir(folder); folder = filepath.Dir(folder) {
		if info, statErr := os.Stat(folder); statErr == nil && !info.IsDir() {
			return fault.Errorf(fault.Conflict, folder, "it is a file, and files are to be written into it; give a folder with --out")
		}
	}
	return err
}
