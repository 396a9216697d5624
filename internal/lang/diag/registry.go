package diag

import (
	"slices"
	"strings"
)

// An Info explains a code. Wrong is a source that gives exactly this code and
// Right the same source mended; both are whole files.
type Info struct {
	Code        string
	Severity    Severity
	Title       string
	Explanation string
	Wrong       string
	Right       string
}

var registry = index(syntaxCodes, typeCodes, protocolCodes, machineCodes, targetCodes, genCodes)

func index(tables ...[]Info) map[string]Info {
	all := make(map[string]Info)
	for _, info := range slices.Concat(tables...) {
		if _, twice := all[info.Code]; twice {
			panic("diag: code " + info.Code + " is in the registry twice")
		}
		all[info.Code] = info
	}
	return all
}

// Lookup returns what is known of a code.
func Lookup(code string) (Info, bool) {
	info, ok := registry[code]
	return info, ok
}

// Codes lists all codes in order.
func Codes() []Info {
	var all []Info
	for _, info := range registry {
		all = append(all, info)
	}
	slices.SortFunc(all, func(a, b Info) int { return strings.Compare(a.Code, b.Code) })
	return all
}
