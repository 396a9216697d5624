package gen

import (
	"bytes"
	"slices"

	"github.com/parley-agents/parley/internal/lang/aea"
	"github.com/parley-agents/parley/spec"
)

// emitAEA writes a specification of the AEA framework for each protocol.
func emitAEA(plan *Plan, found *problems) []File {
	var files []File
	for _, p := range plan.Protocols {
		s, ok := specification(plan, p, found)
		if !ok {
			continue
		}
		text := append([]byte("# "+plan.header()+"\n"), s.YAML()...)
		files = append(files, File{Path: s.Name + ".yaml", Text: text})
	}
	return files
}

// specification converts a protocol, or says where it cannot be.
func specification(plan *Plan, p *Protocol, found *problems) (*aea.Specification, bool) {
	s, wrong := aea.FromProtocol(p.Spec)
	for _, w := range wrong {
		found.add(w.Code, p.place(plan, w.Message, w.Field), w.Hint, "%s", w.Text)
	}
	return s, len(wrong) == 0
}

// isAEA reports whether the source makes the protocol one of the AEA framework.
func isAEA(p *spec.Protocol) bool {
	return slices.ContainsFunc(slices.Concat(p.PackageAnnotations, p.Annotations), func(a spec.Annotation) bool { return a.Name == "aea" })
}

// emitProto writes protobuf: that of the framework for its protocols, in one of
// its flavours, and for others what their types look like in proto3.
func emitProto(flavour aea.Flavour) emitter {
	return func(plan *Plan, found *problems) []File {
		var files []File
		others := false
		for _, p := range plan.Protocols {
			if !isAEA(p.Spec) {
				others = true
				continue
			}
			if s, ok := specification(plan, p, found); ok {
				files = append(files, File{Path: s.Name + ".proto", Text: headed(plan, s.Proto(flavour))})
			}
		}
		if others || len(plan.Protocols) == 0 {
			files = append(files, protoTypes(plan, found))
		}
		return files
	}
}

func headed(plan *Plan, text string) []byte {
	var b bytes.Buffer
	b.WriteString("// " + plan.header() + "\n" + text)
	return b.Bytes()
}
