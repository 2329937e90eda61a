// A pod as a form shows it: amounts of one container, how many pods, an init container and a sidecar; and as YAML.

import { same, type Tree, treeOf } from "../values/small_yaml";

export type Qos = "Guaranteed" | "Burstable" | "BestEffort";

export interface Part {
  /** Thousandths. */
  cpu: number;
  /** MiB. */
  memory: number;
}

export interface Shape extends Part {
  name: string;
  qos: Qos;
  /** Resource -> number; of huge pages MiB. */
  devices: Record<string, number>;
  replicas: number;
  init: Part | null;
  sidecar: Part | null;
}

export const FIRST: Shape = {
  name: "pod",
  qos: "Guaranteed",
  cpu: 2000,
  memory: 1024,
  devices: {},
  replicas: 1,
  init: null,
  sidecar: null,
};

export function isHuge(resource: string): boolean {
  return resource.startsWith("hugepages-");
}

/** Null where the manifest says more than the form shows, or it is none: it is never changed behind its writer's back. */
export function shapeOf(text: string): Shape | null {
  const tree = treeOf(text);
  const shape = tree && readShape(tree);
  if (!shape) return null;
  return same(told(treeOf(yamlOf(shape))!), told(tree)) ? shape : null;
}

/** Names of containers and images say nothing about where a pod goes; the form keeps none of them. */
function told(tree: Tree): Tree {
  if (Array.isArray(tree)) return tree.map(told);
  if (typeof tree !== "object") return tree;
  const kept = Object.entries(tree).filter(([key]) => key !== "image" && !(key === "name" && "image" in tree));
  return Object.fromEntries(kept.map(([key, value]) => [key, amountOf(key, value) ?? told(value)]));
}

/** `1024Mi` and `1Gi` are the same amount, and so are `2000m` and `2`. */
function amountOf(key: string, value: Tree): string | null {
  const amount = key === "cpu" ? milli(value) : key === "memory" || isHuge(key) ? mebi(value) : null;
  return amount === null ? null : String(amount);
}

function at(tree: Tree | undefined, ...path: (string | number)[]): Tree | undefined {
  let found = tree;
  for (const step of path) {
    if (typeof found !== "object") return undefined;
    found = Array.isArray(found) ? found[step as number] : found[step];
  }
  return found;
}

function readShape(tree: Tree): Shape | null {
  const template = at(tree, "kind") === "Deployment";
  const spec = template ? at(tree, "spec", "template", "spec") : at(tree, "spec");
  const name = at(tree, "metadata", "name");
  const main = at(spec, "containers", 0, "resources");
  const first = at(spec, "initContainers");
  const inits = Array.isArray(first) ? first : [];
  const limits = at(main, "limits") ?? {};
  const requests = at(main, "requests");
  if (typeof name !== "string" || typeof limits !== "object" || Array.isArray(limits)) return null;
  const qos: Qos = requests !== undefined ? "Burstable" : "cpu" in limits ? "Guaranteed" : "BestEffort";
  const own = partOf(requests ?? limits);
  const devices: Record<string, number> = {};
  for (const [resource, amount] of Object.entries(limits)) {
    if (resource === "cpu" || resource === "memory") continue;
    const count = isHuge(resource) ? mebi(amount) : whole(amount);
    if (count === null) return null;
    devices[resource] = count;
  }
  const sidecar = inits.find((one) => at(one, "restartPolicy") === "Always");
  const init = inits.find((one) => at(one, "restartPolicy") === undefined);
  const replicas = template ? whole(at(tree, "spec", "replicas")) : 1;
  const parts = [init, sidecar].map((one) => (one === undefined ? null : partOf(at(one, "resources", "limits"))));
  if (replicas === null || (qos !== "BestEffort" && !own) || (init && !parts[0]) || (sidecar && !parts[1])) return null;
  return { name, qos, ...(own ?? { cpu: FIRST.cpu, memory: FIRST.memory }), devices, replicas, init: parts[0]!, sidecar: parts[1]! };
}

function partOf(amounts: Tree | undefined): Part | null {
  const [cpu, memory] = [milli(at(amounts, "cpu")), mebi(at(amounts, "memory"))];
  return cpu === null || memory === null ? null : { cpu, memory };
}

function whole(text: Tree | undefined): number | null {
  return typeof text === "string" && /^\d{1,6}$/.test(text) ? Number(text) : null;
}

function milli(text: Tree | undefined): number | null {
  const match = typeof text === "string" ? /^(\d{1,7})(m?)$/.exec(text) : null;
  return match ? Number(match[1]) * (match[2] ? 1 : 1000) : null;
}

function mebi(text: Tree | undefined): number | null {
  const match = typeof text === "string" ? /^(\d{1,9})([MG])i$/.exec(text) : null;
  return match ? Number(match[1]) * (match[2] === "G" ? 1024 : 1) : null;
}

export function cpuText(cpu: number): string {
  return cpu % 1000 === 0 ? `"${cpu / 1000}"` : `${cpu}m`;
}

export function mebiText(amount: number): string {
  return amount > 0 && amount % 1024 === 0 ? `${amount / 1024}Gi` : `${amount}Mi`;
}

export function yamlOf(shape: Shape): string {
  const several = shape.replicas !== 1;
  const spec = specLines(shape);
  const lines = several
    ? [
        "apiVersion: apps/v1",
        "kind: Deployment",
        "metadata:",
        `  name: ${shape.name}`,
        "spec:",
        `  replicas: ${shape.replicas}`,
        "  selector:",
        "    matchLabels:",
        `      app: ${shape.name}`,
        "  template:",
        "    metadata:",
        "      labels:",
        `        app: ${shape.name}`,
        "    spec:",
        ...spec.map((line) => `      ${line}`),
      ]
    : ["apiVersion: v1", "kind: Pod", "metadata:", `  name: ${shape.name}`, "spec:", ...spec.map((line) => `  ${line}`)];
  return `${lines.join("\n")}\n`;
}

function specLines({ qos, cpu, memory, devices, init, sidecar }: Shape): string[] {
  const amounts = qos === "BestEffort" ? [] : [`cpu: ${cpuText(cpu)}`, `memory: ${mebiText(memory)}`];
  const extras = Object.entries(devices)
    .filter(([, count]) => count > 0)
    .map(([resource, count]) => `${resource}: ${isHuge(resource) ? mebiText(count) : `"${count}"`}`);
  const limits = qos === "Burstable" ? extras : [...amounts, ...extras];
  const inits = [
    ...(init ? containerLines("init", [], partLines(init)) : []),
    ...(sidecar ? containerLines("sidecar", ["restartPolicy: Always"], partLines(sidecar)) : []),
  ];
  return [
    ...(inits.length > 0 ? ["initContainers:", ...inits] : []),
    "containers:",
    ...containerLines("main", [], limits, qos === "Burstable" ? amounts : []),
  ];
}

function partLines({ cpu, memory }: Part): string[] {
  return [`cpu: ${cpuText(cpu)}`, `memory: ${mebiText(memory)}`];
}

function containerLines(name: string, more: string[], limits: string[], requests: string[] = []): string[] {
  const group = (title: string, lines: string[]) =>
    lines.length > 0 ? [`    ${title}:`, ...lines.map((line) => `      ${line}`)] : [];
  const resources = [...group("requests", requests), ...group("limits", limits)];
  return [
    `- name: ${name}`,
    "  image: example",
    ...more.map((line) => `  ${line}`),
    ...(resources.length > 0 ? ["  resources:", ...resources] : []),
  ];
}
