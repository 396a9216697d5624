package uagents

import (
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/parley-agents/parley/spec"
)

// formatTime writes a time as Python's isoformat does: six digits of fraction
// or none, an offset in hours and minutes and, if it has them, seconds.
func formatTime(t time.Time, withOffset bool) string {
	layout := "2006-01-02T15:04:05"
	if t.Nanosecond()/1000 != 0 {
		layout += ".000000"
	}
	if withOffset {
		layout += "-07:00"
		if _, offset := t.Zone(); offset%60 != 0 {
			layout += ":00"
		}
	}
	return t.Format(layout)
}

var timeLayouts = map[spec.Kind][]string{
	spec.DateTime: {"2006-01-02T15:04:05Z07:00", "2006-01-02T15:04:05"},
	spec.Date:     {"2006-01-02"},
	spec.Time:     {"15:04:05Z07:00", "15:04:05"},
}

// parseTime reads RFC 3339 text, with or without an offset.
func parseTime(text string, kind spec.Kind) (t time.Time, withOffset bool, err error) {
	for i, layout := range timeLayouts[kind] {
		t, err = time.Parse(layout, text)
		_, offset := t.Zone()
		if err != nil || !wellSpaced(text, kind) || abs(offset) >= 24*60*60 {
			continue
		}
		if offset == 0 {
			t = t.UTC() // and not the local zone, where that has no offset either
		}
		return t, i == 0 && kind != spec.Date, nil
	}
	return t, false, refuse("expected %s, found %.64q", map[spec.Kind]string{
		spec.DateTime: "a time such as 2026-01-02T03:04:05.678Z", spec.Date: "a date such as 2026-01-02", spec.Time: "a time of day such as 03:04:05",
	}[kind], text)
}

// wellSpaced refuses what time.Parse takes beyond RFC 3339, hours of one digit
// and a comma for the point, and fractions longer than the peers take them.
func wellSpaced(text string, kind spec.Kind) bool {
	if kind == spec.Date {
		return true
	}
	hourEnd := map[spec.Kind]int{spec.DateTime: len("2006-01-02T15"), spec.Time: len("15")}[kind]
	_, fraction, _ := strings.Cut(text, ".")
	digits := len(fraction) - len(strings.TrimLeft(fraction, "0123456789"))
	return text[hourEnd] == ':' && !strings.Contains(text, ",") && digits <= 12
}

func abs(n int) int { return max(n, -n) }

// canonicalTime spells a time in the one way Python writes it. Whether it has
// an offset stays as it was.
func canonicalTime(text string, kind spec.Kind) (string, error) {
	t, withOffset, err := parseTime(text, kind)
	if err != nil {
		return "", err
	}
	if t.Year() < 1 && kind != spec.Time {
		return "", refuse("expected a year from 1 on")
	}
	switch full := formatTime(t, withOffset); kind {
	case spec.Date:
		return full[:len("2006-01-02")], nil
	case spec.Time:
		return full[len("2006-01-02T"):], nil
	default:
		return full, nil
	}
}

// canonicalUUID takes the 36 characters of the usual form in either case.
func canonicalUUID(text string, version4 bool) (string, error) {
	id, err := uuid.Parse(text)
	if err != nil || len(text) != 36 {
		return "", refuse("expected a UUID such as 0b9bd2c6-6d3e-4a39-9a25-0d7f1b0b3c11, found %.64q", text)
	}
	if version4 && (id.Version() != 4 || id.Variant() != uuid.RFC4122) {
		return "", refuse("expected a UUID of version 4")
	}
	return id.String(), nil
}
