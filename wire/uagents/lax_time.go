package uagents

import (
	"fmt"
	"math"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/parley-agents/parley/internal/pyjson"
	"github.com/parley-agents/parley/spec"
)

// secondsOf is the number that stands for a time or a duration.
func secondsOf(v pyjson.Value) (float64, error) {
	v, err := coerceFloat(v)
	if err == nil {
		v, err = float(v)
	}
	return v.Num, err
}

const (
	millisecondsFrom = 2e10 // a larger Unix time is taken as milliseconds, or less
	endOfTime        = 3e20
)

// coerceTime turns numbers and numeric text into times, and the spellings of
// times that Python takes into the one that it writes.
func coerceTime(v pyjson.Value, kind spec.Kind) (pyjson.Value, error) {
	switch v.Kind {
	case pyjson.Bool, pyjson.Int, pyjson.Float:
	case pyjson.String:
		if _, numeric := parsePythonFloat(v.Text); !numeric {
			return completeTime(v, kind)
		}
	default:
		return v, expected("a time", v)
	}
	seconds, err := secondsOf(v)
	if err != nil || math.IsNaN(seconds) {
		return v, refuse("expected a time")
	}
	if kind == spec.Time {
		return timeOfDay(seconds)
	}
	t, err := unixTime(seconds)
	if err != nil {
		return v, err
	}
	if kind == spec.Date {
		return pyjson.Of(t.Format(time.DateOnly)), nil
	}
	return pyjson.Of(formatTime(t, math.Abs(seconds) <= endOfTime)), nil
}

func unixTime(seconds float64) (time.Time, error) {
	switch {
	case seconds > endOfTime:
		return time.Date(9999, 12, 31, 23, 59, 59, 999999000, time.UTC), nil
	case seconds < -endOfTime:
		return time.Date(1, 1, 1, 0, 0, 0, 0, time.UTC), nil
	}
	for math.Abs(seconds) > millisecondsFrom {
		seconds /= 1000
	}
	t := time.UnixMicro(microseconds(seconds)).UTC()
	if t.Year() < 1 || t.Year() > 9999 {
		return t, refuse("expected a time between the years 1 and 9999")
	}
	return t, nil
}

// microseconds rounds as Python's timedelta does: whole seconds apart from the
// fraction, half to even.
func microseconds(seconds float64) int64 {
	whole, fraction := math.Modf(seconds)
	return int64(whole)*1e6 + int64(math.RoundToEven(fraction*1e6))
}

func timeOfDay(seconds float64) (pyjson.Value, error) {
	if seconds >= 86400 || seconds <= -1 || microseconds(seconds) < 0 {
		return pyjson.Value{}, refuse("expected a time of day")
	}
	t := time.UnixMicro(microseconds(seconds)).UTC()
	return pyjson.Of(formatTime(t, false)[len("1970-01-01T"):]), nil
}

const (
	dateForm  = `(\d{4})-(\d{1,2})-(\d{1,2})`
	clockForm = `(\d{1,2}):(\d{1,2})(?::(\d{1,2})(?:\.(\d{1,6})\d{0,6})?)?(Z|[+-]\d{2}(?::?\d{2})?)?`
)

var timeForms = map[spec.Kind]*regexp.Regexp{
	spec.DateTime: regexp.MustCompile(`^` + dateForm + `[T ]` + clockForm + `\n?$`),
	spec.Date:     regexp.MustCompile(`^` + dateForm + `\n?$`),
	spec.Time:     regexp.MustCompile(`^` + clockForm + `\n?$`),
}

// completeTime writes "2026-1-2 3:04+0530" as "2026-01-02T03:04:00+05:30".
// Whether there is such a day or hour is not its business.
func completeTime(v pyjson.Value, kind spec.Kind) (pyjson.Value, error) {
	m := timeForms[kind].FindStringSubmatch(asciiDigits(v.Text))
	if m == nil {
		_, _, err := parseTime("", kind)
		return v, err
	}
	two := func(s string) string { return strings.Repeat("0", max(0, 2-len(s))) + s }
	var parts []string
	if kind != spec.Time {
		parts = append(parts, m[1]+"-"+two(m[2])+"-"+two(m[3]))
		m = m[3:]
	}
	if kind != spec.Date {
		clock := two(m[1]) + ":" + two(m[2]) + ":" + two(m[3])
		if m[4] != "" {
			clock += "." + m[4]
		}
		parts = append(parts, clock+completeOffset(m[5]))
	}
	return pyjson.Of(strings.Join(parts, "T")), nil
}

// completeOffset writes an offset with hours and minutes; more minutes than an
// hour has count as hours.
func completeOffset(offset string) string {
	if offset == "" || offset == "Z" {
		return offset
	}
	hours, _ := strconv.Atoi(offset[1:3])
	minutes := 0
	if len(offset) > 3 {
		minutes, _ = strconv.Atoi(offset[len(offset)-2:])
	}
	minutes += 60 * hours
	return fmt.Sprintf("%c%02d:%02d", offset[0], minutes/60, minutes%60)
}

var (
	clockDuration = regexp.MustCompile(`^(?:(-?\d+) (?:days?, )?)?(?:(?:(-?\d+):(\d+):(\d+)|(?:(-?\d+):)?(-?\d+))(?:\.(\d{1,6})\d{0,6})?)\n?$`)
	isoDuration   = regexp.MustCompile(`^([-+]?)P(?:(\d+(?:\.\d+)?)D)?(?:T(?:(\d+(?:\.\d+)?)H)?(?:(\d+(?:\.\d+)?)M)?(?:(\d+(?:\.\d+)?)S)?)?\n?$`)
)

// Python's timedelta has days from -999999999 to 999999999, and the hours of the
// last one.
const maxDurationDays = 999999999

// coerceDuration reads "1 day, 2:03:04.5", "P1DT2H" and numbers as seconds.
func coerceDuration(v pyjson.Value) (pyjson.Value, error) {
	text := asciiDigits(v.Text)
	switch v.Kind {
	case pyjson.Bool, pyjson.Int, pyjson.Float:
		seconds, err := secondsOf(v)
		if err != nil {
			return v, err
		}
		text = strconv.FormatFloat(seconds, 'f', 6, 64)
	case pyjson.String:
	default:
		return v, expected("a duration", v)
	}
	seconds, ok := parseDuration(text)
	if !ok || seconds < -maxDurationDays*86400 || seconds >= (maxDurationDays+1)*86400 {
		return v, refuse("expected a duration")
	}
	return pyjson.OfFloat(seconds), nil
}

func parseDuration(text string) (float64, bool) {
	number := func(s string) float64 {
		f, _ := strconv.ParseFloat(s, 64)
		return f
	}
	if m := isoDuration.FindStringSubmatch(text); m != nil {
		total := number(m[2])*86400 + number(m[3])*3600 + number(m[4])*60 + number(m[5])
		if m[1] == "-" {
			total = -total
		}
		return roundToMicroseconds(total), true
	}
	m := clockDuration.FindStringSubmatch(text)
	if m == nil {
		return 0, false
	}
	minutes, seconds := m[3]+m[5], m[4]+m[6]
	fraction := number("0." + m[7] + "0")
	if strings.HasPrefix(seconds, "-") {
		fraction = -fraction
	}
	total := number(m[1])*86400 + number(m[2])*3600 + number(minutes)*60 + number(seconds) + fraction
	return roundToMicroseconds(total), true
}

func roundToMicroseconds(seconds float64) float64 {
	if math.Abs(seconds) > 9e12 {
		return seconds
	}
	return float64(microseconds(seconds)) / 1e6
}
