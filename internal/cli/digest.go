package cli

import (
	"fmt"
	"os"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/parley-agents/parley/fault"
	"github.com/parley-agents/parley/spec"
)

func newDigest() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "digest [FILE.parley|FILE.json|FOLDER]...",
		Short: "Compute the digests of a protocol from its source or manifest",
		Long: `Compute the digests of a protocol.

Of a source in the language these are the protocol's own digest, which changes
with what travels and what may answer what, but not with layout, comments or the
order of declarations; and for each role the digest of the manifest that a Python
agent in that role publishes, with those of the models. A note tells where a
protocol has no such form. Folders are searched for sources.

Of a manifest, as Python agents publish it, these are the digests of the protocol
and of its models. They come from the schemas as they stand; what the manifest
says of its own digests is only compared, and reported on standard error where it
is stale. A manifest is that of one role. Where it lists several under "roles" (a
name and the titles or digests of the messages it handles), --role chooses one.`,
		Example: `  parley digest shop.parley
  parley digest chat.json
  parley digest --json < chat.json`,
	}
	asJSON := jsonFlag(cmd)
	role := cmd.Flags().String("role", "", "the role whose messages count")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if len(args) == 0 {
			args = []string{"-"}
		}
		for _, path := range args {
			if err := digestFile(cmd, path, *role, *asJSON); err != nil {
				return fmt.Errorf("%s: %w", path, err)
			}
		}
		return nil
	}
	return cmd
}

func digestFile(cmd *cobra.Command, path, role string, asJSON bool) error {
	if info, err := os.Stat(path); err == nil && info.IsDir() {
		return digestFolder(cmd, path, role, asJSON)
	}
	text, err := readInput(cmd, path)
	if err != nil {
		return err
	}
	if isSource(path, text) {
		return digestSource(cmd, sourceOf(path, text), role, asJSON)
	}
	digests, err := spec.ManifestDigests(text, role)
	if err != nil {
		return err
	}
	for _, s := range digests.Stale {
		fmt.Fprintf(cmd.ErrOrStderr(), "parley: %s: stale digest of %s: the manifest says %s, its schemas give %s\n", path, s.Of, s.Stated, s.Actual)
	}
	if asJSON {
		printJSON(cmd.OutOrStdout(), digestsJSON(digests))
		return nil
	}
	rows := [][]string{{digests.Protocol, digests.Name}}
	for _, m := range digests.Models {
		rows = append(rows, []string{m.Digest, m.Name})
	}
	table(cmd.OutOrStdout(), rows)
	return nil
}

func digestsJSON(d *spec.Digests) map[string]any {
	models := make(map[string]string)
	for _, m := range d.Models {
		name := m.Name
		for n := 2; models[name] != ""; n++ { // two models may share a title
			name = m.Name + " " + strconv.Itoa(n)
		}
		models[name] = m.Digest
	}
	out := map[string]any{"protocol": d.Protocol, "models": models}
	if len(d.Stale) > 0 {
		var stale []map[string]string
		for _, s := range d.Stale {
			stale = append(stale, map[string]string{"of": s.Of, "stated": s.Stated, "actual": s.Actual})
		}
		out["stale"] = stale
	}
	return out
}

// modelOf finds a model of a manifest by its title.
func modelOf(manifest []byte, title string) (spec.Type, error) {
	p, err := spec.ParseManifest(manifest)
	if err != nil {
		return nil, err
	}
	m := p.Message(title)
	if m == nil {
		var known []string
		for _, m := range p.Messages {
			known = append(known, m.Name)
		}
		return nil, fault.Errorf(fault.NotFound, "model", "the manifest has no model %q; it has %q", title, known)
	}
	return m.Body, nil
}
