// The outside of a kubelet, without containers: a runtime whose containers are entries in a table, and device plugins.
//
// It serves CRI v1 on RUNTIME, and on CONTROL what the tests ask of it, as JSON over HTTP. Plugins register with the
// kubelet whose folder is at its usual place, so this program shares the kubelet's mounts.
package main

import (
	"encoding/json"
	"flag"
	"log"
	"net"
	"net/http"
	"os"

	"google.golang.org/grpc"
	cri "k8s.io/cri-api/pkg/apis/runtime/v1"
)

func main() {
	runtimeSocket := flag.String("runtime", "", "socket of the runtime")
	controlSocket := flag.String("control", "", "socket of the control")
	flag.Parse()

	containers := newRuntime()
	server := grpc.NewServer()
	cri.RegisterRuntimeServiceServer(server, containers)
	cri.RegisterImageServiceServer(server, images{})
	go func() { log.Fatal(server.Serve(listen(*runtimeSocket))) }()
	log.Fatal(http.Serve(listen(*controlSocket), control(containers, newPlugins())))
}

func listen(path string) net.Listener {
	_ = os.Remove(path)
	listener, err := net.Listen("unix", path)
	if err != nil {
		log.Fatal(err)
	}
	return listener
}

func control(containers *fakeRuntime, plugins *plugins) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /containers", func(w http.ResponseWriter, _ *http.Request) { answer(w, containers.list(), nil) })
	mux.HandleFunc("POST /exit", asked(func(own exitRequest) (any, error) { return nil, containers.exit(own) }))
	mux.HandleFunc("POST /forget", asked(func(struct{}) (any, error) { containers.forget(); return nil, nil }))
	mux.HandleFunc("POST /plugin/start", asked(func(own pluginRequest) (any, error) { return nil, plugins.start(own) }))
	mux.HandleFunc("POST /plugin/list", asked(func(own pluginRequest) (any, error) { return nil, plugins.list(own) }))
	mux.HandleFunc("POST /plugin/stop", asked(func(own pluginRequest) (any, error) { return nil, plugins.stop(own) }))
	mux.HandleFunc("GET /podresources", func(w http.ResponseWriter, r *http.Request) {
		told, err := podResources(r.Context())
		answer(w, told, err)
	})
	return mux
}

func asked[T any](do func(T) (any, error)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		var own T
		if err := json.NewDecoder(r.Body).Decode(&own); err != nil {
			answer(w, nil, err)
			return
		}
		told, err := do(own)
		answer(w, told, err)
	}
}

func answer(w http.ResponseWriter, told any, err error) {
	if err != nil {
		http.Error(w, err.Error(), http.StatusConflict)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(told)
}
