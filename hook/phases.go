package hook

import "time"

// Phases says where the time of one run went. A nil *Phases records nothing.
type Phases struct {
	last  time.Time
	Names []string
	Took  []time.Duration
}

// NewPhases starts the clock.
func NewPhases() *Phases { return &Phases{last: time.Now()} }

// Mark ends a phase.
func (p *Phases) Mark(name string) {
	if p == nil {
		return
	}
	now := time.Now()
	p.Names = append(p.Names, name)
	p.Took = append(p.Took, now.Sub(p.last))
	p.last = now
}
