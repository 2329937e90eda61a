package main

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	cri "k8s.io/cri-api/pkg/apis/runtime/v1"
)

const (
	endsAtOnce = "exit-0" // the command of a container that ends with status 0 as soon as it is started
	killed     = 137      // the status of one that was stopped
	memoryUsed = 1 << 20  // what each container is said to use
)

type sandbox struct {
	id      string
	config  *cri.PodSandboxConfig
	created int64
	ready   bool
}

type container struct {
	id        string
	sandbox   *sandbox
	config    *cri.ContainerConfig
	resources *cri.LinuxContainerResources
	state     cri.ContainerState
	created   int64
	started   int64
	finished  int64
	code      int32
}

type fakeRuntime struct {
	cri.UnimplementedRuntimeServiceServer
	lock       sync.Mutex
	number     int
	sandboxes  []*sandbox
	containers []*container
}

func newRuntime() *fakeRuntime { return &fakeRuntime{} }

func missing(what, id string) error { return status.Errorf(codes.NotFound, "no %s %s", what, id) }

func (r *fakeRuntime) newID(kind string) string {
	r.number++
	return fmt.Sprintf("%s%055d", kind, r.number)
}

func (r *fakeRuntime) sandbox(id string) *sandbox {
	for _, own := range r.sandboxes {
		if strings.HasPrefix(own.id, id) {
			return own
		}
	}
	return nil
}

func (r *fakeRuntime) container(id string) *container {
	for _, own := range r.containers {
		if strings.HasPrefix(own.id, id) {
			return own
		}
	}
	return nil
}

func (own *container) end(code int32) {
	if own.state == cri.ContainerState_CONTAINER_RUNNING || own.state == cri.ContainerState_CONTAINER_CREATED {
		own.state, own.code, own.finished = cri.ContainerState_CONTAINER_EXITED, code, time.Now().UnixNano()
	}
}

func (r *fakeRuntime) Version(context.Context, *cri.VersionRequest) (*cri.VersionResponse, error) {
	return &cri.VersionResponse{Version: "0.1.0", RuntimeName: "table", RuntimeVersion: "1.0.0", RuntimeApiVersion: "v1"}, nil
}

func (r *fakeRuntime) Status(context.Context, *cri.StatusRequest) (*cri.StatusResponse, error) {
	ready := []*cri.RuntimeCondition{{Type: cri.RuntimeReady, Status: true}, {Type: cri.NetworkReady, Status: true}}
	return &cri.StatusResponse{Status: &cri.RuntimeStatus{Conditions: ready}}, nil
}

func (r *fakeRuntime) RuntimeConfig(context.Context, *cri.RuntimeConfigRequest) (*cri.RuntimeConfigResponse, error) {
	linux := &cri.LinuxRuntimeConfiguration{CgroupDriver: cri.CgroupDriver_CGROUPFS}
	return &cri.RuntimeConfigResponse{Linux: linux}, nil
}

func (r *fakeRuntime) UpdateRuntimeConfig(context.Context, *cri.UpdateRuntimeConfigRequest) (*cri.UpdateRuntimeConfigResponse, error) {
	return &cri.UpdateRuntimeConfigResponse{}, nil
}

func (r *fakeRuntime) RunPodSandbox(_ context.Context, asked *cri.RunPodSandboxRequest) (*cri.RunPodSandboxResponse, error) {
	r.lock.Lock()
	defer r.lock.Unlock()
	own := &sandbox{id: r.newID("s"), config: asked.Config, created: time.Now().UnixNano(), ready: true}
	r.sandboxes = append(r.sandboxes, own)
	return &cri.RunPodSandboxResponse{PodSandboxId: own.id}, nil
}

func (r *fakeRuntime) StopPodSandbox(_ context.Context, asked *cri.StopPodSandboxRequest) (*cri.StopPodSandboxResponse, error) {
	r.lock.Lock()
	defer r.lock.Unlock()
	if own := r.sandbox(asked.PodSandboxId); own != nil {
		own.ready = false
		for _, each := range r.containers {
			if each.sandbox == own {
				each.end(killed)
			}
		}
	}
	return &cri.StopPodSandboxResponse{}, nil
}

func (r *fakeRuntime) RemovePodSandbox(_ context.Context, asked *cri.RemovePodSandboxRequest) (*cri.RemovePodSandboxResponse, error) {
	r.lock.Lock()
	defer r.lock.Unlock()
	if own := r.sandbox(asked.PodSandboxId); own != nil {
		r.containers = slices.DeleteFunc(r.containers, func(each *container) bool { return each.sandbox == own })
		r.sandboxes = slices.DeleteFunc(r.sandboxes, func(each *sandbox) bool { return each == own })
	}
	return &cri.RemovePodSandboxResponse{}, nil
}

func (own *sandbox) state() cri.PodSandboxState {
	if own.ready {
		return cri.PodSandboxState_SANDBOX_READY
	}
	return cri.PodSandboxState_SANDBOX_NOTREADY
}

func (r *fakeRuntime) PodSandboxStatus(_ context.Context, asked *cri.PodSandboxStatusRequest) (*cri.PodSandboxStatusResponse, error) {
	r.lock.Lock()
	defer r.lock.Unlock()
	own := r.sandbox(asked.PodSandboxId)
	if own == nil {
		return nil, missing("sandbox", asked.PodSandboxId)
	}
	host := &cri.LinuxPodSandboxStatus{Namespaces: &cri.Namespace{Options: own.config.GetLinux().GetSecurityContext().GetNamespaceOptions()}}
	return &cri.PodSandboxStatusResponse{Status: &cri.PodSandboxStatus{
		Id: own.id, Metadata: own.config.Metadata, State: own.state(), CreatedAt: own.created,
		Network: &cri.PodSandboxNetworkStatus{Ip: "127.0.0.1"}, Linux: host,
		Labels: own.config.Labels, Annotations: own.config.Annotations,
	}}, nil
}

func (r *fakeRuntime) ListPodSandbox(_ context.Context, asked *cri.ListPodSandboxRequest) (*cri.ListPodSandboxResponse, error) {
	r.lock.Lock()
	defer r.lock.Unlock()
	told := &cri.ListPodSandboxResponse{}
	for _, own := range r.sandboxes {
		wanted := asked.GetFilter()
		if !strings.HasPrefix(own.id, wanted.GetId()) || !labelled(own.config.Labels, wanted.GetLabelSelector()) {
			continue
		}
		if wanted.GetState() != nil && wanted.State.State != own.state() {
			continue
		}
		told.Items = append(told.Items, &cri.PodSandbox{
			Id: own.id, Metadata: own.config.Metadata, State: own.state(), CreatedAt: own.created,
			Labels: own.config.Labels, Annotations: own.config.Annotations,
		})
	}
	return told, nil
}

func labelled(labels, wanted map[string]string) bool {
	for name, value := range wanted {
		if labels[name] != value {
			return false
		}
	}
	return true
}

func (r *fakeRuntime) CreateContainer(_ context.Context, asked *cri.CreateContainerRequest) (*cri.CreateContainerResponse, error) {
	r.lock.Lock()
	defer r.lock.Unlock()
	pod := r.sandbox(asked.PodSandboxId)
	if pod == nil {
		return nil, missing("sandbox", asked.PodSandboxId)
	}
	own := &container{
		id: r.newID("c"), sandbox: pod, config: asked.Config, resources: asked.Config.GetLinux().GetResources(),
		state: cri.ContainerState_CONTAINER_CREATED, created: time.Now().UnixNano(),
	}
	if own.resources == nil {
		own.resources = &cri.LinuxContainerResources{}
	}
	r.containers = append(r.containers, own)
	return &cri.CreateContainerResponse{ContainerId: own.id}, nil
}

func (r *fakeRuntime) StartContainer(_ context.Context, asked *cri.StartContainerRequest) (*cri.StartContainerResponse, error) {
	r.lock.Lock()
	defer r.lock.Unlock()
	own := r.container(asked.ContainerId)
	if own == nil {
		return nil, missing("container", asked.ContainerId)
	}
	own.state, own.started = cri.ContainerState_CONTAINER_RUNNING, time.Now().UnixNano()
	if slices.Contains(own.config.Command, endsAtOnce) {
		own.end(0)
	}
	return &cri.StartContainerResponse{}, nil
}

func (r *fakeRuntime) StopContainer(_ context.Context, asked *cri.StopContainerRequest) (*cri.StopContainerResponse, error) {
	r.lock.Lock()
	defer r.lock.Unlock()
	if own := r.container(asked.ContainerId); own != nil {
		own.end(killed)
	}
	return &cri.StopContainerResponse{}, nil
}

func (r *fakeRuntime) RemoveContainer(_ context.Context, asked *cri.RemoveContainerRequest) (*cri.RemoveContainerResponse, error) {
	r.lock.Lock()
	defer r.lock.Unlock()
	own := r.container(asked.ContainerId)
	r.containers = slices.DeleteFunc(r.containers, func(each *container) bool { return each == own })
	return &cri.RemoveContainerResponse{}, nil
}

func (r *fakeRuntime) ListContainers(_ context.Context, asked *cri.ListContainersRequest) (*cri.ListContainersResponse, error) {
	r.lock.Lock()
	defer r.lock.Unlock()
	told := &cri.ListContainersResponse{}
	for _, own := range r.containers {
		wanted := asked.GetFilter()
		if !strings.HasPrefix(own.id, wanted.GetId()) || !strings.HasPrefix(own.sandbox.id, wanted.GetPodSandboxId()) {
			continue
		}
		if wanted.GetState() != nil && wanted.State.State != own.state || !labelled(own.config.Labels, wanted.GetLabelSelector()) {
			continue
		}
		told.Containers = append(told.Containers, &cri.Container{
			Id: own.id, PodSandboxId: own.sandbox.id, Metadata: own.config.Metadata, Image: own.config.Image,
			ImageRef: own.config.GetImage().GetImage(), State: own.state, CreatedAt: own.created,
			Labels: own.config.Labels, Annotations: own.config.Annotations,
		})
	}
	return told, nil
}

func (r *fakeRuntime) ContainerStatus(_ context.Context, asked *cri.ContainerStatusRequest) (*cri.ContainerStatusResponse, error) {
	r.lock.Lock()
	defer r.lock.Unlock()
	own := r.container(asked.ContainerId)
	if own == nil {
		return nil, missing("container", asked.ContainerId)
	}
	reason := ""
	if own.state == cri.ContainerState_CONTAINER_EXITED {
		reason = "Error"
		if own.code == 0 {
			reason = "Completed"
		}
	}
	return &cri.ContainerStatusResponse{Status: &cri.ContainerStatus{
		Id: own.id, Metadata: own.config.Metadata, State: own.state, CreatedAt: own.created, StartedAt: own.started,
		FinishedAt: own.finished, ExitCode: own.code, Reason: reason, Image: own.config.Image,
		ImageRef: own.config.GetImage().GetImage(), Labels: own.config.Labels, Annotations: own.config.Annotations,
		Resources: &cri.ContainerResources{Linux: own.resources}, LogPath: own.log(),
	}}, nil
}

// Nothing is written there, but a kubelet removes all files whose names begin with it.
func (own *container) log() string {
	return filepath.Join("/var/log/pods", own.sandbox.id, own.id+".log")
}

func (r *fakeRuntime) UpdateContainerResources(_ context.Context, asked *cri.UpdateContainerResourcesRequest) (*cri.UpdateContainerResourcesResponse, error) {
	r.lock.Lock()
	defer r.lock.Unlock()
	own := r.container(asked.ContainerId)
	if own == nil {
		return nil, missing("container", asked.ContainerId)
	}
	update(own.resources, asked.GetLinux())
	return &cri.UpdateContainerResourcesResponse{}, nil
}

// What is not told stays as it is.
func update(own, told *cri.LinuxContainerResources) {
	if told.GetCpusetCpus() != "" {
		own.CpusetCpus = told.CpusetCpus
	}
	if told.GetCpusetMems() != "" {
		own.CpusetMems = told.CpusetMems
	}
	if told.GetCpuPeriod() != 0 {
		own.CpuPeriod = told.CpuPeriod
	}
	if told.GetCpuQuota() != 0 {
		own.CpuQuota = told.CpuQuota
	}
	if told.GetCpuShares() != 0 {
		own.CpuShares = told.CpuShares
	}
	if told.GetMemoryLimitInBytes() != 0 {
		own.MemoryLimitInBytes = told.MemoryLimitInBytes
	}
}

func (r *fakeRuntime) UpdatePodSandboxResources(context.Context, *cri.UpdatePodSandboxResourcesRequest) (*cri.UpdatePodSandboxResourcesResponse, error) {
	return &cri.UpdatePodSandboxResourcesResponse{}, nil
}

func (r *fakeRuntime) ContainerStats(_ context.Context, asked *cri.ContainerStatsRequest) (*cri.ContainerStatsResponse, error) {
	r.lock.Lock()
	defer r.lock.Unlock()
	own := r.container(asked.ContainerId)
	if own == nil {
		return nil, missing("container", asked.ContainerId)
	}
	return &cri.ContainerStatsResponse{Stats: own.stats()}, nil
}

func (r *fakeRuntime) ListContainerStats(_ context.Context, asked *cri.ListContainerStatsRequest) (*cri.ListContainerStatsResponse, error) {
	r.lock.Lock()
	defer r.lock.Unlock()
	told := &cri.ListContainerStatsResponse{}
	for _, own := range r.containers {
		if strings.HasPrefix(own.id, asked.GetFilter().GetId()) && strings.HasPrefix(own.sandbox.id, asked.GetFilter().GetPodSandboxId()) {
			told.Stats = append(told.Stats, own.stats())
		}
	}
	return told, nil
}

func (own *container) stats() *cri.ContainerStats {
	now, used := time.Now().UnixNano(), &cri.UInt64Value{Value: memoryUsed}
	return &cri.ContainerStats{
		Attributes: &cri.ContainerAttributes{Id: own.id, Metadata: own.config.Metadata, Labels: own.config.Labels, Annotations: own.config.Annotations},
		Cpu:        &cri.CpuUsage{Timestamp: now, UsageCoreNanoSeconds: &cri.UInt64Value{}, UsageNanoCores: &cri.UInt64Value{}},
		Memory:     &cri.MemoryUsage{Timestamp: now, WorkingSetBytes: used, UsageBytes: used, RssBytes: used},
	}
}

func (r *fakeRuntime) ListPodSandboxStats(context.Context, *cri.ListPodSandboxStatsRequest) (*cri.ListPodSandboxStatsResponse, error) {
	return &cri.ListPodSandboxStatsResponse{}, nil
}

func (r *fakeRuntime) ReopenContainerLog(context.Context, *cri.ReopenContainerLogRequest) (*cri.ReopenContainerLogResponse, error) {
	return &cri.ReopenContainerLogResponse{}, nil
}

// What the tests see and do.

type seenContainer struct {
	Pod       string `json:"pod"`
	Container string `json:"container"`
	Attempt   uint32 `json:"attempt"`
	State     string `json:"state"`
	Cpus      string `json:"cpus"`
	Mems      string `json:"mems"`
}

func (r *fakeRuntime) list() []seenContainer {
	r.lock.Lock()
	defer r.lock.Unlock()
	told := []seenContainer{}
	for _, own := range r.containers {
		state := strings.TrimPrefix(own.state.String(), "CONTAINER_")
		name := own.config.Metadata
		told = append(told, seenContainer{own.sandbox.config.Metadata.Name, name.Name, name.Attempt, state, own.resources.CpusetCpus, own.resources.CpusetMems})
	}
	return told
}

type exitRequest struct {
	Pod       string `json:"pod"`
	Container string `json:"container"`
	Code      int32  `json:"code"`
}

func (r *fakeRuntime) exit(asked exitRequest) error {
	r.lock.Lock()
	defer r.lock.Unlock()
	for _, own := range r.containers {
		running := own.state == cri.ContainerState_CONTAINER_RUNNING
		if running && own.sandbox.config.Metadata.Name == asked.Pod && own.config.Metadata.Name == asked.Container {
			own.end(asked.Code)
			return nil
		}
	}
	return fmt.Errorf("no container %s of pod %s runs", asked.Container, asked.Pod)
}

// After a reboot nothing is left.
func (r *fakeRuntime) forget() {
	r.lock.Lock()
	defer r.lock.Unlock()
	r.sandboxes, r.containers = nil, nil
}

type images struct {
	cri.UnimplementedImageServiceServer
}

func (images) ImageStatus(_ context.Context, asked *cri.ImageStatusRequest) (*cri.ImageStatusResponse, error) {
	name := asked.GetImage().GetImage()
	image := &cri.Image{Id: name, RepoTags: []string{name}, Size: 1, Spec: asked.Image}
	return &cri.ImageStatusResponse{Image: image}, nil
}

func (images) ListImages(context.Context, *cri.ListImagesRequest) (*cri.ListImagesResponse, error) {
	return &cri.ListImagesResponse{}, nil
}

func (images) PullImage(_ context.Context, asked *cri.PullImageRequest) (*cri.PullImageResponse, error) {
	return &cri.PullImageResponse{ImageRef: asked.GetImage().GetImage()}, nil
}

func (images) RemoveImage(context.Context, *cri.RemoveImageRequest) (*cri.RemoveImageResponse, error) {
	return &cri.RemoveImageResponse{}, nil
}

func (images) ImageFsInfo(context.Context, *cri.ImageFsInfoRequest) (*cri.ImageFsInfoResponse, error) {
	usage := &cri.FilesystemUsage{
		Timestamp: time.Now().UnixNano(), FsId: &cri.FilesystemIdentifier{Mountpoint: "/var/lib/kubelet"},
		UsedBytes: &cri.UInt64Value{Value: 1}, InodesUsed: &cri.UInt64Value{Value: 1},
	}
	own := []*cri.FilesystemUsage{usage}
	return &cri.ImageFsInfoResponse{ImageFilesystems: own, ContainerFilesystems: own}, nil
}
