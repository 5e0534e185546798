package state

import (
	"encoding/json"
	"fmt"
)

// Encode writes the state as a runtime would, for a hook that hands its input
// on. The bundle is the one that was found.
func (s State) Encode(bundle string) ([]byte, error) {
	w := wire{State: s.State, Root: s.Root}
	w.Bundle = bundle
	text, err := json.Marshal(w)
	if err != nil {
		return nil, fmt.Errorf("encode state: %w", err)
	}
	return text, nil
}
