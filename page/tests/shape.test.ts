import { describe, expect, test } from "vitest";
import { FIRST, type Shape, shapeOf, yamlOf } from "../src/what_if/shape";
import { stepped } from "../src/what_if/pod_form";
import { treeOf } from "../src/values/small_yaml";

const INIT = { cpu: 500, memory: 256, name: "init", image: "example" };
const SIDECAR = { ...INIT, name: "sidecar" };
const SHAPES: Shape[] = [
  FIRST,
  { ...FIRST, cpu: 1500, memory: 1536 },
  { ...FIRST, qos: "Burstable", devices: { "nvidia.com/gpu": 2 } },
  { ...FIRST, devices: { "nvidia.com/gpu": 2, "hugepages-2Mi": 64 } },
  { ...FIRST, qos: "BestEffort" },
  { ...FIRST, qos: "BestEffort", devices: { "nvidia.com/gpu": 1 } },
  { ...FIRST, replicas: 4 },
  { ...FIRST, replicas: 0 },
  { ...FIRST, init: INIT },
  { ...FIRST, sidecar: SIDECAR, replicas: 2 },
  { ...FIRST, init: INIT, sidecar: { ...SIDECAR, cpu: 1000, memory: 1024 }, name: "other" },
  { ...FIRST, namespace: "team", main: { name: "web", image: "registry.example:5000/nginx:1.25@sha256:0a" } },
  { ...FIRST, namespace: "team", replicas: 3, name: "123", main: { name: "no", image: "" } },
  { ...FIRST, init: { ...INIT, name: "fetch", image: "curl:8" }, sidecar: { ...SIDECAR, name: "log", image: "1.2" } },
];

test.each(SHAPES.map((shape) => [yamlOf(shape), shape] as const))("what the form writes it reads back: %s", (text, shape) => {
  expect(shapeOf(text)).toEqual(shape);
  expect(treeOf(text)).not.toBeNull();
});

test("a step keeps the names of containers and their images", () => {
  const web = `apiVersion: v1
kind: Pod
metadata: {name: shop, namespace: team}
spec:
  containers:
  - name: web
    image: "nginx:1.25"
    resources:
      limits: {cpu: "2", memory: 1Gi}
`;
  expect(yamlOf({ ...shapeOf(web)!, cpu: 3000 })).toBe(`apiVersion: v1
kind: Pod
metadata:
  name: shop
  namespace: team
spec:
  containers:
  - name: web
    image: nginx:1.25
    resources:
      limits:
        cpu: "3"
        memory: 1Gi
`);
});

test("a manifest in other words for the same is read, too", () => {
  const text = `apiVersion: v1
kind: Pod
metadata: {name: pod}
spec:
  containers:
    - image: registry/x:1
      name: app
      resources:
        limits: {memory: 1024Mi, cpu: 2000m}
`;
  expect(shapeOf(text)).toEqual({ ...FIRST, main: { name: "app", image: "registry/x:1" } });
});

describe("what says more than the form is left alone", () => {
  const pod = yamlOf(FIRST);
  test.each([
    ["a comment", `# ours\n${pod}`],
    ["a comment further in", pod.replace("    image", "    # the newest\n    image")],
    ["a comment behind a value", pod.replace("1Gi", "1Gi # enough")],
    ["a second container", `${pod}  - name: more\n    image: example\n`],
    ["a field", pod.replace("spec:", "spec:\n  nodeName: a")],
    ["a label", pod.replace("  name: pod", "  name: pod\n  labels:\n    a: b")],
    ["other requests", pod.replace("limits:", 'requests:\n        cpu: "1"\n        memory: 1Gi\n      limits:')],
    ["two documents", `${pod}---\n${pod}`],
    ["an anchor", pod.replace("example", "&a example")],
    ["a block text", pod.replace("example", "|\n      x")],
    ["odd amounts", pod.replace("1Gi", "1e9")],
    ["JSON", '{"kind": "Pod"}'],
    ["nonsense", "kind: Pod\n  broken: ["],
    ["a key twice", pod.replace("kind: Pod", "kind: Pod\nkind: Pod")],
    ["nothing", ""],
  ])("%s", (_, text) => {
    expect(shapeOf(text)).toBeNull();
  });
});

test.each([
  [2, 1, 0, 3],
  [1, -1, 0, 0],
  [0, 1, 0, 1],
  [1, -1, 0.001, 0.5],
  [0.5, 1, 0.001, 1],
  [0.75, 1, 0.001, 1],
  [1.5, -1, 0.001, 0.5],
  [1, -1, 1, 1],
  [128, -64, 0, 64],
])("a step from %d by %d, at least %d, ends at %d", (value, by, least, end) => {
  expect(stepped(value, by, least)).toBe(end);
});
