package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	plugin "k8s.io/kubelet/pkg/apis/deviceplugin/v1beta1"
	resources "k8s.io/kubelet/pkg/apis/podresources/v1"
)

const (
	podResourcesSocket = "unix:/var/lib/kubelet/pod-resources/kubelet.sock"
	patience           = 10 * time.Second
)

type deviceRequest struct {
	ID      string  `json:"id"`
	Nodes   []int64 `json:"nodes"`
	Healthy bool    `json:"healthy"`
}

type pluginRequest struct {
	Resource string          `json:"resource"`
	Devices  []deviceRequest `json:"devices"`
}

func (own pluginRequest) list() []*plugin.Device {
	told := []*plugin.Device{}
	for _, each := range own.Devices {
		device := &plugin.Device{ID: each.ID, Health: plugin.Unhealthy}
		if each.Healthy {
			device.Health = plugin.Healthy
		}
		if len(each.Nodes) > 0 {
			device.Topology = &plugin.TopologyInfo{}
			for _, node := range each.Nodes {
				device.Topology.Nodes = append(device.Topology.Nodes, &plugin.NUMANode{ID: node})
			}
		}
		told = append(told, device)
	}
	return told
}

type devicePlugin struct {
	plugin.UnimplementedDevicePluginServer
	resource string
	socket   string
	server   *grpc.Server
	lock     sync.Mutex
	devices  []*plugin.Device
	changed  chan struct{} // closed when the list has changed
}

type plugins struct {
	lock sync.Mutex
	own  map[string]*devicePlugin
}

func newPlugins() *plugins { return &plugins{own: map[string]*devicePlugin{}} }

// Serves and registers; one that runs already ends first.
func (p *plugins) start(asked pluginRequest) error {
	_ = p.stop(asked)
	name := strings.NewReplacer("/", "-", ".", "-").Replace(asked.Resource) + ".sock"
	own := &devicePlugin{
		resource: asked.Resource, socket: filepath.Join(plugin.DevicePluginPath, name), server: grpc.NewServer(),
		devices: asked.list(), changed: make(chan struct{}),
	}
	_ = os.Remove(own.socket)
	listener, err := net.Listen("unix", own.socket)
	if err != nil {
		return err
	}
	plugin.RegisterDevicePluginServer(own.server, own)
	go func() { _ = own.server.Serve(listener) }()
	p.lock.Lock()
	p.own[asked.Resource] = own
	p.lock.Unlock()

	connection, err := grpc.NewClient("unix:"+plugin.KubeletSocket, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		return err
	}
	defer connection.Close()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	_, err = plugin.NewRegistrationClient(connection).Register(ctx, &plugin.RegisterRequest{
		Version: plugin.Version, Endpoint: name, ResourceName: asked.Resource, Options: &plugin.DevicePluginOptions{},
	}, grpc.WaitForReady(true))
	return err
}

func (p *plugins) list(asked pluginRequest) error {
	p.lock.Lock()
	defer p.lock.Unlock()
	own := p.own[asked.Resource]
	if own == nil {
		return fmt.Errorf("no plugin for %s runs", asked.Resource)
	}
	own.lock.Lock()
	defer own.lock.Unlock()
	own.devices = asked.list()
	close(own.changed)
	own.changed = make(chan struct{})
	return nil
}

func (p *plugins) stop(asked pluginRequest) error {
	p.lock.Lock()
	defer p.lock.Unlock()
	own := p.own[asked.Resource]
	if own == nil {
		return fmt.Errorf("no plugin for %s runs", asked.Resource)
	}
	delete(p.own, asked.Resource)
	own.server.Stop()
	return nil
}

func (own *devicePlugin) GetDevicePluginOptions(context.Context, *plugin.Empty) (*plugin.DevicePluginOptions, error) {
	return &plugin.DevicePluginOptions{}, nil
}

func (own *devicePlugin) ListAndWatch(_ *plugin.Empty, stream plugin.DevicePlugin_ListAndWatchServer) error {
	for {
		own.lock.Lock()
		devices, changed := own.devices, own.changed
		own.lock.Unlock()
		if err := stream.Send(&plugin.ListAndWatchResponse{Devices: devices}); err != nil {
			return err
		}
		select {
		case <-changed:
		case <-stream.Context().Done():
			return nil
		}
	}
}

func (own *devicePlugin) Allocate(_ context.Context, asked *plugin.AllocateRequest) (*plugin.AllocateResponse, error) {
	name := "NUMAFIT_" + strings.ToUpper(strings.NewReplacer("/", "_", ".", "_", "-", "_").Replace(own.resource))
	told := &plugin.AllocateResponse{}
	for _, each := range asked.ContainerRequests {
		envs := map[string]string{name: strings.Join(each.DevicesIds, ",")}
		told.ContainerResponses = append(told.ContainerResponses, &plugin.ContainerAllocateResponse{Envs: envs})
	}
	return told, nil
}

func (own *devicePlugin) GetPreferredAllocation(context.Context, *plugin.PreferredAllocationRequest) (*plugin.PreferredAllocationResponse, error) {
	return nil, errors.New("not offered")
}

func (own *devicePlugin) PreStartContainer(context.Context, *plugin.PreStartContainerRequest) (*plugin.PreStartContainerResponse, error) {
	return &plugin.PreStartContainerResponse{}, nil
}

type toldResources struct {
	Pods        *resources.ListPodResourcesResponse     `json:"pods"`
	Allocatable *resources.AllocatableResourcesResponse `json:"allocatable"`
}

func podResources(ctx context.Context) (*toldResources, error) {
	connection, err := grpc.NewClient(podResourcesSocket, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		return nil, err
	}
	defer connection.Close()
	client := resources.NewPodResourcesListerClient(connection)
	pods, err := client.List(ctx, &resources.ListPodResourcesRequest{})
	if err != nil {
		return nil, err
	}
	allocatable, err := client.GetAllocatableResources(ctx, &resources.AllocatableResourcesRequest{})
	if err != nil {
		return nil, err
	}
	return &toldResources{pods, allocatable}, nil
}
