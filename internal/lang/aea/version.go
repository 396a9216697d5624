package aea

import (
	"regexp"
	"strings"
)

// Python's way of writing versions (PEP 440), with all spellings it takes.
var pep440 = regexp.MustCompile(`^([0-9]+(?:\.[0-9]+)*)` +
	`(?:[-_.]?(alpha|beta|preview|pre|rc|a|b|c)[-_.]?([0-9]+)?)?` +
	`(?:-([0-9]+)|[-_.]?(post|rev|r)[-_.]?([0-9]+)?)?` +
	`(?:[-_.]?(dev)[-_.]?([0-9]+)?)?` +
	`(?:\+([a-z0-9]+(?:[-_.][a-z0-9]+)*))?$`)

var preReleases = map[string]string{"alpha": "a", "a": "a", "beta": "b", "b": "b", "c": "rc", "rc": "rc", "pre": "rc", "preview": "rc"}

// normalVersion returns a version in Python's normal form; ok is false if it has
// none, such as "1.0.0-mine".
func normalVersion(version string) (normal string, ok bool) {
	m := pep440.FindStringSubmatch(strings.ToLower(version))
	if m == nil {
		return "", false
	}
	number := func(digits string) string {
		if digits = strings.TrimLeft(digits, "0"); digits == "" {
			return "0"
		}
		return digits
	}
	normal = m[1]
	if m[2] != "" {
		normal += preReleases[m[2]] + number(m[3])
	}
	if m[4] != "" || m[5] != "" {
		normal += ".post" + number(m[4]+m[6])
	}
	if m[7] != "" {
		normal += ".dev" + number(m[8])
	}
	if m[9] != "" {
		normal += "+" + strings.NewReplacer("-", ".", "_", ".").Replace(m[9])
	}
	return normal, true
}

// wireID returns the parts of the identity on the wire.
func (s *Specification) wireID() (author, name, version string) {
	author, rest, _ := strings.Cut(s.ID, "/")
	name, version, _ = strings.Cut(rest, ":")
	version, hash, _ := strings.Cut(version, ":")
	if len(version) > 40 && hash == "" { // only a hash
		version = ""
	}
	if version == "" {
		version = "latest"
	}
	return author, name, version
}
