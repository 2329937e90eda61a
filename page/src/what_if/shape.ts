// A pod as a form shows it: amounts of one container, how many pods, an init container and a sidecar; and as YAML.

import { same, type Tree, treeOf } from "../values/small_yaml";

export type Qos = "Guaranteed" | "Burstable" | "BestEffort";

export interface Part {
  /** Thousandths. */
  cpu: number;
  /** MiB. */
  memory: number;
}

/** What is kept of a container besides its amounts: its place in a patch, and in a cluster, hangs on it. */
export interface Named {
  name: string;
  /** Empty: none stands there. */
  image: string;
}

export interface Shape extends Part {
  name: string;
  /** Empty: none stands there. */
  namespace: string;
  main: Named;
  qos: Qos;
  /** Resource -> number; of huge pages MiB. */
  devices: Record<string, number>;
  replicas: number;
  init: (Part & Named) | null;
  sidecar: (Part & Named) | null;
}

export const FIRST: Shape = {
  name: "pod",
  namespace: "",
  main: { name: "main", image: "example" },
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
  const tree = hasComments(text) ? null : treeOf(text);
  const shape = tree && readShape(tree);
  const again = shape && treeOf(yamlOf(shape));
  return tree && again && same(told(again), told(tree)) ? shape : null;
}

/** The form writes a manifest anew, and would write none of them. */
export function hasComments(text: string): boolean {
  return /(^|\s)#/m.test(text);
}

/** Amounts as numbers. */
function told(tree: Tree): Tree {
  if (Array.isArray(tree)) return tree.map(told);
  if (typeof tree !== "object") return tree;
  return Object.fromEntries(Object.entries(tree).map(([key, value]) => [key, amountOf(key, value) ?? told(value)]));
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
  const namespace = at(tree, "metadata", "namespace") ?? "";
  const main = at(spec, "containers", 0, "resources");
  const named = namedOf(at(spec, "containers", 0));
  const first = at(spec, "initContainers");
  const inits = Array.isArray(first) ? first : [];
  const limits = at(main, "limits") ?? {};
  const requests = at(main, "requests");
  if (typeof name !== "string" || typeof namespace !== "string" || !named) return null;
  if (typeof limits !== "object" || Array.isArray(limits)) return null;
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
  const beside = [init, sidecar].map((one) => {
    const [part, called] = [partOf(at(one, "resources", "limits")), namedOf(one)];
    return part && called ? { ...part, ...called } : null;
  });
  if (replicas === null || (qos !== "BestEffort" && !own) || (init && !beside[0]) || (sidecar && !beside[1])) return null;
  const amounts = own ?? { cpu: FIRST.cpu, memory: FIRST.memory };
  return { name, namespace, main: named, qos, ...amounts, devices, replicas, init: beside[0]!, sidecar: beside[1]! };
}

function namedOf(container: Tree | undefined): Named | null {
  const [name, image = ""] = [at(container, "name"), at(container, "image")];
  return typeof name === "string" && typeof image === "string" ? { name, image } : null;
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

/** In quotes where YAML would read something else, as a number or `yes`. */
function wordText(word: string): string {
  const plain = /^[A-Za-z][\w./@-]*(:[\w./@-]+)*$/.test(word) && !/^(true|false|yes|no|on|off|y|n|null)$/i.test(word);
  return plain ? word : JSON.stringify(word);
}

export function yamlOf(shape: Shape): string {
  const several = shape.replicas !== 1;
  const spec = specLines(shape);
  const name = wordText(shape.name);
  const namespace = shape.namespace ? [`  namespace: ${wordText(shape.namespace)}`] : [];
  const metadata = ["metadata:", `  name: ${name}`, ...namespace];
  const lines = several
    ? [
        "apiVersion: apps/v1",
        "kind: Deployment",
        ...metadata,
        "spec:",
        `  replicas: ${shape.replicas}`,
        "  selector:",
        "    matchLabels:",
        `      app: ${name}`,
        "  template:",
        "    metadata:",
        "      labels:",
        `        app: ${name}`,
        "    spec:",
        ...spec.map((line) => `      ${line}`),
      ]
    : ["apiVersion: v1", "kind: Pod", ...metadata, "spec:", ...spec.map((line) => `  ${line}`)];
  return `${lines.join("\n")}\n`;
}

function specLines({ main, qos, cpu, memory, devices, init, sidecar }: Shape): string[] {
  const amounts = qos === "BestEffort" ? [] : [`cpu: ${cpuText(cpu)}`, `memory: ${mebiText(memory)}`];
  const extras = Object.entries(devices)
    .filter(([, count]) => count > 0)
    .map(([resource, count]) => `${resource}: ${isHuge(resource) ? mebiText(count) : `"${count}"`}`);
  const limits = qos === "Burstable" ? extras : [...amounts, ...extras];
  const inits = [
    ...(init ? containerLines(init, [], partLines(init)) : []),
    ...(sidecar ? containerLines(sidecar, ["restartPolicy: Always"], partLines(sidecar)) : []),
  ];
  return [
    ...(inits.length > 0 ? ["initContainers:", ...inits] : []),
    "containers:",
    ...containerLines(main, [], limits, qos === "Burstable" ? amounts : []),
  ];
}

function partLines({ cpu, memory }: Part): string[] {
  return [`cpu: ${cpuText(cpu)}`, `memory: ${mebiText(memory)}`];
}

function containerLines(own: Named, more: string[], limits: string[], requests: string[] = []): string[] {
  const group = (title: string, lines: string[]) =>
    lines.length > 0 ? [`    ${title}:`, ...lines.map((line) => `      ${line}`)] : [];
  const resources = [...group("requests", requests), ...group("limits", limits)];
  return [
    `- name: ${wordText(own.name)}`,
    ...(own.image ? [`  image: ${wordText(own.image)}`] : []),
    ...more.map((line) => `  ${line}`),
    ...(resources.length > 0 ? ["  resources:", ...resources] : []),
  ];
}
