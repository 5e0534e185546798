package main

import (
	"context"
	"fmt"
	"os"
	"time"

	runtime "k8s.io/cri-api/pkg/apis/runtime/v1"
)

// life is one sandbox with one container.
type life struct {
	order              Order
	service            runtime.RuntimeServiceClient
	sandbox, container string
	report             Report
}

// step runs one call under a name and notes how long it took.
func (l *life) step(name string, call func() error) error {
	start := time.Now()
	l.report.Step = name
	err := call()
	if l.report.MS == nil {
		l.report.MS = map[string]int64{}
	}
	l.report.MS[name] = time.Since(start).Milliseconds()
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	return nil
}

// sandboxConfig asks for the node's network: no plugin is needed for that.
func (l *life) sandboxConfig() *runtime.PodSandboxConfig {
	return &runtime.PodSandboxConfig{
		Metadata:     &runtime.PodSandboxMetadata{Name: l.order.Name, Uid: l.order.Name, Namespace: "default"},
		LogDirectory: l.order.LogDir,
		Linux: &runtime.LinuxPodSandboxConfig{
			CgroupParent:    l.order.CgroupParent,
			SecurityContext: &runtime.LinuxSandboxSecurityContext{NamespaceOptions: nodeNetwork(), Privileged: l.order.Privileged},
		},
	}
}

func nodeNetwork() *runtime.NamespaceOption {
	return &runtime.NamespaceOption{Network: runtime.NamespaceMode_NODE}
}

func (l *life) containerConfig() *runtime.ContainerConfig {
	c := &runtime.ContainerConfig{
		Metadata:    &runtime.ContainerMetadata{Name: "main"},
		Image:       &runtime.ImageSpec{Image: l.order.Image, UserSpecifiedImage: l.order.Image},
		Command:     l.order.Args,
		Annotations: l.order.Annotations,
		LogPath:     l.order.Name + ".log",
		Linux: &runtime.LinuxContainerConfig{SecurityContext: &runtime.LinuxContainerSecurityContext{
			NamespaceOptions: nodeNetwork(), Privileged: l.order.Privileged,
		}},
	}
	for key, value := range l.order.Env {
		c.Envs = append(c.Envs, &runtime.KeyValue{Key: key, Value: value})
	}
	for _, m := range l.order.Mounts {
		c.Mounts = append(c.Mounts, &runtime.Mount{HostPath: m.Host, ContainerPath: m.Container})
	}
	for _, name := range l.order.CDI {
		c.CDIDevices = append(c.CDIDevices, &runtime.CDIDevice{Name: name})
	}
	return c
}

// live takes the container through all steps.
func (l *life) live(ctx context.Context) error {
	err := l.step("RunPodSandbox", func() error {
		r, err := l.service.RunPodSandbox(ctx, &runtime.RunPodSandboxRequest{Config: l.sandboxConfig(), RuntimeHandler: l.order.Handler})
		l.sandbox = r.GetPodSandboxId()
		return err
	})
	if err != nil {
		return err
	}
	err = l.step("CreateContainer", func() error {
		r, err := l.service.CreateContainer(ctx, &runtime.CreateContainerRequest{
			PodSandboxId: l.sandbox, Config: l.containerConfig(), SandboxConfig: l.sandboxConfig(),
		})
		l.container = r.GetContainerId()
		return err
	})
	if err != nil {
		return err
	}
	err = l.step("StartContainer", func() error {
		_, err := l.service.StartContainer(ctx, &runtime.StartContainerRequest{ContainerId: l.container})
		return err
	})
	if err != nil {
		return err
	}
	if l.report.Exec, err = l.exec(ctx, l.order.Exec); err != nil {
		return err
	}
	if l.order.Update {
		err = l.step("UpdateContainerResources", func() error {
			_, err := l.service.UpdateContainerResources(ctx, &runtime.UpdateContainerResourcesRequest{
				ContainerId: l.container, Linux: &runtime.LinuxContainerResources{CpuShares: 200},
			})
			return err
		})
		if err != nil {
			return err
		}
	}
	if l.order.WaitFor != "" {
		if err := l.step("Wait", func() error { return wait(ctx, l.order.WaitFor) }); err != nil {
			return err
		}
	}
	l.report.ExecAfter, err = l.exec(ctx, l.order.ExecAfter)
	return err
}

// wait waits for a file.
func wait(ctx context.Context, file string) error {
	for {
		if _, err := os.Stat(file); err == nil {
			return nil
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(20 * time.Millisecond):
		}
	}
}

func (l *life) exec(ctx context.Context, commands [][]string) ([]Said, error) {
	var all []Said
	for _, command := range commands {
		err := l.step("ExecSync", func() error {
			r, err := l.service.ExecSync(ctx, &runtime.ExecSyncRequest{ContainerId: l.container, Cmd: command, Timeout: 20})
			all = append(all, Said{r.GetExitCode(), string(r.GetStdout()), string(r.GetStderr())})
			return err
		})
		if err != nil {
			return all, err
		}
	}
	return all, nil
}

// end removes what was made. Failures here follow from earlier ones, or show
// in what is left behind.
func (l *life) end() {
	ctx, cancel := context.WithTimeout(context.Background(), limit/2)
	defer cancel()
	was := l.report.Step
	if l.container != "" {
		_ = l.step("StopContainer", func() error {
			_, err := l.service.StopContainer(ctx, &runtime.StopContainerRequest{ContainerId: l.container, Timeout: l.order.Grace})
			return err
		})
		_ = l.step("RemoveContainer", func() error {
			_, err := l.service.RemoveContainer(ctx, &runtime.RemoveContainerRequest{ContainerId: l.container})
			return err
		})
	}
	if l.sandbox != "" {
		_ = l.step("StopPodSandbox", func() error {
			_, err := l.service.StopPodSandbox(ctx, &runtime.StopPodSandboxRequest{PodSandboxId: l.sandbox})
			return err
		})
		_ = l.step("RemovePodSandbox", func() error {
			_, err := l.service.RemovePodSandbox(ctx, &runtime.RemovePodSandboxRequest{PodSandboxId: l.sandbox})
			return err
		})
	}
	l.report.Step = was
}
