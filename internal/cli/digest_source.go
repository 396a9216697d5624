package cli

import (
	"bytes"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/parley-agents/parley/fault"
	lang "github.com/parley-agents/parley/internal/lang/check"
	"github.com/parley-agents/parley/internal/lang/project"
	"github.com/parley-agents/parley/spec"
)

// isSource tells a source of the language from a manifest, which is a JSON object.
func isSource(name string, text []byte) bool {
	for _, suffix := range []string{".parley", ".md", ".markdown"} {
		if strings.HasSuffix(name, suffix) {
			return true
		}
	}
	start := bytes.TrimLeft(text, " \t\r\n")
	return name == "-" && len(start) > 0 && start[0] != '{' && start[0] != '['
}

func sourceOf(name string, text []byte) project.Source {
	if name == "-" {
		name = project.Stdin
	}
	return project.Source{Name: filepath.ToSlash(filepath.Clean(name)), Text: text}
}

// digestFolder prints the digests of all sources in a folder.
func digestFolder(cmd *cobra.Command, folder, role string, asJSON bool) error {
	sources, err := project.Find([]string{folder}, nil)
	if err != nil {
		return err
	}
	for _, s := range sources {
		if err := digestSource(cmd, s, role, asJSON); err != nil {
			return fmt.Errorf("%s: %w", s.Name, err)
		}
	}
	return nil
}

// sourceDigests are the digests of a protocol that was written in the language.
type sourceDigests struct {
	Protocol string            `json:"protocol"`
	Digest   string            `json:"digest"`
	Roles    []roleDigest      `json:"uagents"`
	Models   map[string]string `json:"models"`
	order    []string          // of the models
}

// roleDigest is the uAgents digest of a role, or why there is none. Where the
// protocol has no roles there is one without a name.
type roleDigest struct {
	Role   string `json:"role"`
	Digest string `json:"digest,omitempty"`
	Note   string `json:"note,omitempty"`
}

// digestSource prints the digests of the protocols in a source.
func digestSource(cmd *cobra.Command, source project.Source, role string, asJSON bool) error {
	result, err := project.Check([]project.Source{source}, project.Options{})
	if err != nil {
		return err
	}
	if result.Diagnostics.HasErrors() {
		newFindings(cmd.ErrOrStderr()).print(result.Diagnostics, result.Line)
		return errReported
	}
	all := []sourceDigests{}
	for _, p := range result.Protocols {
		if p.Broken { // and parley.toml does not call it an error
			return fault.Errorf(fault.Malformed, "", "protocol %s rests on mistakes; parley check tells them", p.Name)
		}
		digests, err := digestsOf(p, role)
		if err != nil {
			return err
		}
		all = append(all, digests)
	}
	if asJSON {
		printJSON(cmd.OutOrStdout(), map[string]any{"file": source.Name, "protocols": all})
		return nil
	}
	if len(all) == 0 {
		fmt.Fprintf(cmd.OutOrStdout(), "note: %s declares no protocol\n", source.Name)
	}
	for i := range all {
		all[i].print(cmd)
	}
	return nil
}

// digestsOf computes the digests of a protocol, of one role if it is named.
func digestsOf(p *lang.Protocol, role string) (sourceDigests, error) {
	d := sourceDigests{Protocol: p.ID(), Digest: p.Digest(), Models: make(map[string]string)}
	var roles []string
	for _, r := range p.Spec.Roles {
		roles = append(roles, r.Name)
	}
	switch {
	case role != "" && p.Spec.Role(role) == nil:
		return d, fault.Errorf(fault.NotFound, "role", "protocol %s has no role %q; it has %q", p.Name, role, roles)
	case role != "":
		roles = []string{role}
	case len(roles) == 0:
		roles = []string{""}
	}
	problem := withoutForm(p.Spec)
	for _, r := range roles {
		one := roleDigest{Role: r}
		err := problem
		if err == nil {
			one.Digest, err = p.Spec.Digest(r)
		}
		if err != nil {
			one.Note = "no uAgents form: " + reason(err)
		}
		d.Roles = append(d.Roles, one)
	}
	for _, m := range p.Spec.Messages {
		if digest, err := spec.Digest(m.Body); err == nil && problem == nil {
			d.Models[m.Name] = digest
			d.order = append(d.order, m.Name)
		}
	}
	return d, nil
}

// withoutForm says why a protocol cannot be one of uAgents: a role that receives
// only what can be said there is of no use without the other.
func withoutForm(p *spec.Protocol) error {
	if len(p.Roles) > 2 {
		return fault.Errorf(fault.Unsupported, "", "uAgents protocols have one or two roles")
	}
	_, err := p.Digest("")
	return err
}

// reason is the text of an error without its code.
func reason(err error) string {
	_, text, found := strings.Cut(err.Error(), ": ")
	if !found {
		return err.Error()
	}
	return text
}

func (d *sourceDigests) print(cmd *cobra.Command) {
	rows := [][]string{{d.Digest, d.Protocol}}
	var notes []string
	for _, r := range d.Roles {
		switch {
		case r.Note != "" && (len(notes) == 0 || notes[len(notes)-1] != "note: "+r.Note):
			notes = append(notes, "note: "+r.Note)
		case r.Note == "" && r.Role == "":
			rows = append(rows, []string{r.Digest, "uAgents"})
		case r.Note == "":
			rows = append(rows, []string{r.Digest, "uAgents, role " + r.Role})
		}
	}
	if len(rows) > 1 {
		for _, name := range d.order {
			rows = append(rows, []string{d.Models[name], name})
		}
	}
	table(cmd.OutOrStdout(), rows)
	for _, note := range notes {
		fmt.Fprintln(cmd.OutOrStdout(), note)
	}
}
