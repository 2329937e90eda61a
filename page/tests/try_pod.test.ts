import { afterEach, expect, test, vi } from "vitest";
import type { Holder } from "../src/agent/api_types";
import { podLike, podOf, renamed } from "../src/machine/try_pod";

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

const MANIFEST = `apiVersion: v1
kind: Pod
metadata:
  name: train
  namespace: demo
spec:
  containers:
  - name: worker
    image: example
`;

/** An agent with these answers by their paths; others are refused. */
function answering(answers: Record<string, unknown>) {
  vi.stubGlobal("fetch", async (path: string) => {
    const found = answers[path.split("?")[0]!];
    return found ? Response.json(found) : new Response("{}", { status: 404 });
  });
}
afterEach(() => void vi.unstubAllGlobals());

const decided = (id: number, pod: string, kind = "pod") => ({ id, pod, kind });

test("a pod that the agent has decided about is tried by its manifest", async () => {
  const decisions = [decided(9, "demo/train-2"), decided(8, "demo/train", "release"), decided(7, "demo/train")];
  answering({ "/api/v1/decisions": { decisions }, "/api/v1/decisions/7": { manifest: MANIFEST } });
  expect(await podOf(HOLDER)).toBe(MANIFEST.replace("name: train", "name: train-again"));
  expect(renamed(MANIFEST, "x")).toContain("- name: worker");
});

test.each([
  ["no decision is remembered", { "/api/v1/decisions": { decisions: [] } }],
  ["the agent is away", {}],
  ["nothing was decided", { "/api/v1/decisions": { decisions: [decided(1, "demo/train")] }, "/api/v1/decisions/1": { manifest: "" } }],
])("else by what it holds, as where %s", async (_, answers) => {
  answering(answers);
  expect(await podOf(HOLDER)).toBe(podLike(HOLDER));
});
