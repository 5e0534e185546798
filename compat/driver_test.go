package compat

import "testing"

// driver parses a version that a test knows to be right.
func driver(tb testing.TB, text string) Driver {
	tb.Helper()
	if text == "" {
		return Driver{}
	}
	d, err := ParseDriver(text)
	if err != nil {
		tb.Fatal(err)
	}
	return d
}

func TestParseDriver(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name, text string
		want       int // the branch; 0: an error
	}{
		{"three", "550.163.01", 550},
		{"two", "390.157", 390},
		{"one", "535", 535},
		{"four", "535.1.2.3", 535},
		{"newline", "615.71.09\n", 615},
		{"empty", "", 0},
		{"word", "N/A", 0},
		{"trailing-dot", "550.", 0},
		{"dots", "550..1", 0},
		{"five", "1.2.3.4.5", 0},
		{"suffix", "550.54-open", 0},
		{"prefix", "R550", 0},
		{"zero", "0.1", 0},
		{"huge", "5500000000000000000.1", 0},
		{"six-digits", "550.100000", 0},
		{"negative", "-550.1", 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got, err := ParseDriver(tt.text)
			if got.Branch() != tt.want || (err == nil) != (tt.want != 0) || got.Known() != (tt.want != 0) {
				t.Errorf("ParseDriver(%q) = %v, %v; want branch %d", tt.text, got, err, tt.want)
			}
		})
	}
}

func TestDriverCompare(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name, a, b string
		want       int
	}{
		{"zeros", "535.54.03", "535.54.3", 0},
		{"missing", "440.64", "440.64.00", 0},
		{"numeric", "550.163.01", "550.54.14", 1},
		{"branch", "470.256.02", "535.54.03", -1},
		{"last", "550.54.14", "550.54.15", -1},
		{"data-centre", "418.226.00", "418.39", 1},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			a, b := driver(t, tt.a), driver(t, tt.b)
			if got := a.Compare(b); got != tt.want {
				t.Errorf("%s.Compare(%s) = %d, want %d", a, b, got, tt.want)
			}
			if got := b.Compare(a); got != -tt.want {
				t.Errorf("%s.Compare(%s) = %d, want %d", b, a, got, -tt.want)
			}
			if got := a.Equal(b); got != (tt.want == 0) {
				t.Errorf("%s.Equal(%s) = %t", a, b, got)
			}
		})
	}
}

func TestDriverString(t *testing.T) {
	t.Parallel()
	if got := driver(t, " 535.54.03\n").String(); got != "535.54.03" {
		t.Errorf("String() = %q, want the text as written", got)
	}
	if got := (Driver{}).String(); got != "unknown" {
		t.Errorf("String() of none = %q, want unknown", got)
	}
}

func FuzzParseDriver(f *testing.F) {
	for _, seed := range []string{"550.163.01", "390.157", "1.2.3.4.5", "", "550.", "0", "99999.99999.99999.99999"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		got, err := ParseDriver(text)
		if err != nil {
			if got.Known() {
				t.Fatalf("ParseDriver(%q) = %v beside error %v", text, got, err)
			}
			return
		}
		again, err := ParseDriver(got.String())
		if err != nil || !again.Equal(got) || !got.Known() {
			t.Fatalf("ParseDriver(%q) = %v, %v; want %v as from %q", got, again, err, got, text)
		}
		got.CUDA()
	})
}
