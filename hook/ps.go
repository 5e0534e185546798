package hook

import (
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	"github.com/gpu-hook/gpu-hook/hook/record"
)

// remember writes down in a directory what a container got; "" is nowhere.
func remember(p Plan, way, dir string) error {
	if dir == "" {
		return nil
	}
	start, err := record.StartTime(p.Container.PID)
	if err != nil {
		return err
	}
	r := record.Record{
		ID: p.Container.ID, PID: p.Container.PID, Start: start, Bundle: p.Container.Bundle,
		Driver: p.Driver.Version, GPUs: []string{}, Way: way, Nodes: []record.Node{},
	}
	for _, g := range p.GPUs {
		name := g.UUID
		if name == "" {
			name = g.BusID
		}
		r.GPUs = append(r.GPUs, name)
	}
	if p.RulesNote == "" {
		for _, d := range p.DeviceRules {
			r.Access = d.Access
		}
	}
	for _, n := range p.DeviceNodes {
		r.Nodes = append(r.Nodes, record.Node{
			Path: n.Path, Major: n.Major, Minor: n.Minor, Mode: n.Mode, UID: n.UID, GID: n.GID, Method: n.Method,
		})
	}
	return record.Store{Dir: dir}.Put(r)
}

// Containers is what "gpu-hook ps" shows: the running containers that were
// given something, and what.
type Containers []record.Record

// MakeContainers reads the records of containers that run.
func MakeContainers() (Containers, error) {
	_, records, err := readRecords()
	return records, err
}

// readRecords reads the records and says where they are, "" for nowhere.
func readRecords() (dir string, records []record.Record, err error) {
	s, err := stand("", false, 0, IDMaps{})
	if err != nil {
		return "", nil, err
	}
	if dir = s.runDir(); dir != "" {
		records, err = record.Store{Dir: dir}.List()
	}
	if records == nil {
		records = []record.Record{}
	}
	return dir, records, err
}

// WriteText writes the list for a person.
func (c Containers) WriteText(w io.Writer) error {
	t := tabwriter.NewWriter(w, 0, 8, 2, ' ', 0)
	fmt.Fprintln(t, "CONTAINER\tPID\tDRIVER\tRULES\tGPUS")
	for _, r := range c {
		gpus := strings.Join(r.GPUs, ",")
		if gpus == "" {
			gpus = "none"
		}
		way := r.Way
		if way == "" {
			way = "off"
		}
		fmt.Fprintf(t, "%s\t%d\t%s\t%s\t%s\n", printable(r.ID), r.PID, r.Driver, way, gpus)
	}
	return t.Flush()
}
