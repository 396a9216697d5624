package bench

import (
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"
)

// A result is what was measured of one way to do a thing; zero if it was not.
type result struct {
	perSecond float64
	p50, p99  time.Duration
	cpu       time.Duration // of all processes, per operation
}

// A meter measures operations of this process and of another.
type meter struct {
	other int // process ID, or 0
	began time.Time
	spent time.Duration
}

func startMeter(other int) *meter {
	return &meter{other, time.Now(), time.Duration(cpu()) + cpuOf(other)}
}

func (m *meter) stop(took []time.Duration) result {
	elapsed, spent := time.Since(m.began), time.Duration(cpu())+cpuOf(m.other)-m.spent
	if len(took) == 0 {
		return result{}
	}
	slices.Sort(took)
	return result{
		perSecond: float64(len(took)) / elapsed.Seconds(), p50: took[len(took)/2], p99: took[len(took)*99/100],
		cpu: spent / time.Duration(len(took)),
	}
}

// cpuOf is the processor time that a process has used so far.
func cpuOf(pid int) time.Duration {
	text, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if pid == 0 || err != nil {
		return 0
	}
	const tick = time.Second / 100 // of Linux, as programs see it
	fields := strings.Fields(string(text[strings.LastIndexByte(string(text), ')')+1:]))
	user, err := strconv.Atoi(fields[11])
	check(err)
	system, err := strconv.Atoi(fields[12])
	check(err)
	return time.Duration(user+system) * tick
}

// medianOf picks the result with the median rate.
func medianOf(results []result) result {
	slices.SortFunc(results, func(a, b result) int { return int(a.perSecond - b.perSecond) })
	if len(results) == 0 {
		return result{}
	}
	return results[len(results)/2]
}

// A line of a table compares Parley with the peer and with a program that does
// only what cannot be left out.
type line struct {
	name               string
	unit               string
	ours, theirs, bare float64
	less               bool // is better
	aim, share         float64
}

func heading(title string) {
	fmt.Printf("\n%s\n%-38s %12s %12s %8s %6s %12s %8s %6s\n", title, "", "Parley", "Python", "ratio", "aim", "bare", "share", "aim")
}

func (l line) print() {
	ratio := func(a, b float64) float64 {
		if l.less {
			a, b = b, a
		}
		if a == 0 || b == 0 {
			return 0
		}
		return a / b
	}
	show := func(format string, n float64) string {
		if n == 0 {
			return "-"
		}
		return fmt.Sprintf(format, n)
	}
	fmt.Printf("%-38s %12s %12s %8s %6s %12s %8s %6s\n", l.name, show("%.0f "+l.unit, l.ours), show("%.0f "+l.unit, l.theirs),
		show("%.1fx", ratio(l.ours, l.theirs)), show("%.0fx", l.aim), show("%.0f "+l.unit, l.bare),
		show("%.0f %%", 100*ratio(l.ours, l.bare)), show("%.0f %%", l.share))
}

func micros(d time.Duration) float64 { return float64(d.Nanoseconds()) / 1e3 }
