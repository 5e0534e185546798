// Command cri takes one container through its life over a CRI socket, as a
// kubelet does: sandbox, container, start, exec, update, exec, stop, remove.
//
//	cri SOCKET <order.json >report.json
//
// Everything that was made is removed again, also after a failure. It talks to
// no registry: images must be there already.
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	runtime "k8s.io/cri-api/pkg/apis/runtime/v1"
)

// limit bounds a whole life.
const limit = time.Minute

func main() {
	report, err := run()
	if err != nil {
		report.Error = err.Error()
	}
	if err := json.NewEncoder(os.Stdout).Encode(report); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run() (Report, error) {
	var o Order
	if len(os.Args) != 2 {
		return Report{}, fmt.Errorf("usage: cri SOCKET <order.json")
	}
	if err := json.NewDecoder(os.Stdin).Decode(&o); err != nil {
		return Report{}, fmt.Errorf("read the order: %w", err)
	}
	conn, err := grpc.NewClient("unix://"+os.Args[1], grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		return Report{}, err
	}
	defer conn.Close()
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	service := runtime.NewRuntimeServiceClient(conn)
	if err := ready(ctx, service); err != nil {
		return Report{}, err
	}
	l := life{order: o, service: service}
	err = l.live(ctx)
	l.end()
	return l.report, err
}

// ready waits for the CRI service: containerd answers other calls earlier
// ("server is not initialized yet").
func ready(ctx context.Context, service runtime.RuntimeServiceClient) error {
	for {
		_, err := service.Status(ctx, &runtime.StatusRequest{})
		if err == nil {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("wait for the CRI service: %w", err)
		case <-time.After(20 * time.Millisecond):
		}
	}
}
