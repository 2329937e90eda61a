import { expect, test } from "vitest";
import type { Holder } from "../src/agent/api_types";
import { podLike } from "../src/machine/try_pod";

const HOLDER: Holder = {
  id: "a",
  name: "demo/train",
  kind: "pod",
  since: null,
  owner: "",
  cpus: "0-3,8",
  memory: [
    { nodes: [0], type: "memory", bytes: 1 << 30 },
    { nodes: [1], type: "memory", bytes: 512 << 20 },
    { nodes: [0], type: "hugepages-2Mi", bytes: 4 << 20 },
  ],
  devices: { "nvidia.com/gpu": ["GPU0", "GPU1"] },
  nodes: [0],
  rung: "",
};

test("a holder becomes a pod that asks for all it holds", () => {
  expect(podLike(HOLDER)).toBe(`apiVersion: v1
kind: Pod
metadata:
  name: train-again
spec:
  containers:
  - name: main
    image: example
    resources:
      limits:
        cpu: "5"
        memory: 1536Mi
        hugepages-2Mi: 4Mi
        nvidia.com/gpu: "2"
`);
});

test("who holds CPUs alone gets a limit of memory, so that the pod is Guaranteed", () => {
  expect(podLike({ ...HOLDER, memory: [], devices: {} })).toContain('        cpu: "5"\n        memory: 1Mi\n');
});

test("who runs in the shared pool and holds nothing cannot be tried", () => {
  expect(podLike({ ...HOLDER, kind: "shared", cpus: "", memory: [], devices: {} })).toBeNull();
});

test("any name becomes one that Kubernetes takes", () => {
  expect(podLike({ ...HOLDER, name: "python train.py --x" })).toContain("name: python-train-py-x-again");
  expect(podLike({ ...HOLDER, name: "///" })).toContain("name: pod-again");
});
