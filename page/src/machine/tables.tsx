// The picture in words: everything it shows as tables, for reading aloud, searching and copying.

import { bytesText } from "../values/amounts";
import type { LedgerView } from "../agent/api_types";
import { DistanceTable } from "./distances";
import { amountsText } from "./holders";
import { LyingMark, Tally } from "../telling/lying";
import type { Machine } from "./machine";
import { Name } from "../telling/name";
import { textOf } from "../values/numbers";
import { cpuState, type CpuState, occupancyOf } from "./occupancy";
import { lastOf } from "../values/small_line";
import { busyText, nodeUseLines, type UseAnswer } from "./use";

const STATES: [CpuState, string][] = [
  ["reserved", "reserved CPUs"],
  ["kept", "free for leases, kept back in What if"],
  ["free", "free CPUs"],
  ["pool", "free CPUs, in use by the shared pool"],
  ["shared", "shared CPUs"],
  ["offline", "offline CPUs"],
];

interface Properties {
  machine: Machine;
  ledger: LedgerView;
  use?: UseAnswer | null;
}

export function Tables({ machine, ledger, use = null }: Properties) {
  const occupancy = occupancyOf(ledger);
  const nodes = machine.sockets.flatMap((socket) => socket.nodes.map((node) => ({ socket: socket.title, node })));
  const cpusOf = (id: number) => [...machine.nodeOfCpu].filter(([, node]) => node === id).map(([cpu]) => cpu);
  const inState = (id: number, state: CpuState) =>
    textOf(cpusOf(id).filter((cpu) => cpuState(cpu, occupancy, machine.offline) === state));
  const states = STATES.filter(([state]) => nodes.some(({ node }) => inState(node.id, state)));
  const placed = machine.devices.some((device) => device.bus);
  const name = (id: string | undefined) => (id === undefined ? "" : (occupancy.holders.get(id)?.name ?? id));
  return (
    <div class="tables">
      <Tally counts={ledger.alignment ?? {}} />
      <table>
        <caption>NUMA nodes</caption>
        <thead>
          <tr>
            {[
              "NUMA",
              "place",
              "held CPUs",
              ...states.map(([, words]) => words),
              "memory free (claimed by nobody)",
              "memory",
              ...(use?.known ? ["in use"] : []),
            ].map((head) => (
              <th scope="col" key={head}>
                {head}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {nodes.map(({ socket, node }) => {
            const share = ledger.nodes.find((one) => one.id === node.id);
            return (
              <tr key={node.id}>
                <th scope="row">{node.id}</th>
                <td>{socket}</td>
                <td class="ids">{inState(node.id, "held") || "–"}</td>
                {states.map(([state]) => (
                  <td class="ids" key={state}>
                    {inState(node.id, state) || "–"}
                  </td>
                ))}
                <td>{share ? bytesText(share.memory.free) : "–"}</td>
                <td>{bytesText(share?.memory.total ?? node.memory)}</td>
                {use?.known && <td>{inUseText(use, node.id)}</td>}
              </tr>
            );
          })}
        </tbody>
      </table>
      <table>
        <caption>Holders</caption>
        <thead>
          <tr>
            {["holder", "lies", "has", "CPUs", "devices", "since"].map((head) => (
              <th scope="col" key={head}>
                {head}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {ledger.holders.map((holder) => (
            <tr key={holder.id}>
              <th scope="row">
                <Name text={holder.name} />
              </th>
              <td>
                {holder.alignment ? (
                  <>
                    <LyingMark verdict={holder.alignment.verdict} /> <strong>{holder.alignment.verdict}</strong>:{" "}
                    {holder.alignment.why}
                  </>
                ) : (
                  "–"
                )}
              </td>
              <td>{amountsText(holder)}</td>
              <td class="ids">{holder.kind === "shared" ? "shared" : holder.cpus || "shared"}</td>
              <td class="ids">{Object.values(holder.devices).flat().join(", ") || "–"}</td>
              <td>{holder.since}</td>
            </tr>
          ))}
        </tbody>
      </table>
      {machine.devices.length > 0 && (
        <table>
          <caption>Devices</caption>
          <thead>
            <tr>
              {["device", "resource", "NUMA", "holder", "product", ...(placed ? PLACES : [])].map((head) => (
                <th scope="col" key={head}>
                  {head}
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {machine.devices.map((device) => (
              <tr key={device.id}>
                <th scope="row">{device.label}</th>
                <td>{device.resource || "–"}</td>
                <td>{device.numa.join(", ") || "–"}</td>
                <td>{name(occupancy.devices.get(device.id)) || (device.resource ? "free" : "–")}</td>
                <td>{device.product || "–"}</td>
                {placed && [device.bus, device.switch, device.rootPort].map((at, place) => <td key={place}>{at || "–"}</td>)}
              </tr>
            ))}
          </tbody>
        </table>
      )}
      {machine.sockets.some((socket) => socket.nodes.some((node) => node.distances.size > 1)) && (
        <DistanceTable machine={machine} caption="NUMA distances" />
      )}
      {machine.links.length > 0 && <LinkTable machine={machine} />}
    </div>
  );
}

const PLACES = ["PCI address", "PCIe switch", "root port"];

function inUseText(use: UseAnswer, id: number): string {
  const node = use.nodes.find((one) => one.node === id);
  const busy = lastOf(node?.cpus ?? []);
  return [busy === null ? "" : `${busyText(busy)} CPUs busy`, ...nodeUseLines(node)].filter(Boolean).join("; ") || "–";
}

/** Each device against each, in the words of nvidia-smi. */
function LinkTable({ machine }: { machine: Machine }) {
  const ends = new Set(machine.links.flatMap(({ a, b }) => [a, b]));
  const devices = machine.devices.filter((device) => ends.has(device.id));
  const kinds = new Map(machine.links.flatMap(({ a, b, kind }) => [[`${a} ${b}`, kind], [`${b} ${a}`, kind]] as const));
  return (
    <table>
      <caption>Links</caption>
      <thead>
        <tr>
          <th scope="col">from</th>
          {devices.map((device) => (
            <th scope="col" key={device.id}>
              {device.label}
            </th>
          ))}
        </tr>
      </thead>
      <tbody>
        {devices.map((from) => (
          <tr key={from.id}>
            <th scope="row">{from.label}</th>
            {devices.map((to) => (
              <td key={to.id}>{from === to ? "·" : (kinds.get(`${from.id} ${to.id}`) ?? "–")}</td>
            ))}
          </tr>
        ))}
      </tbody>
    </table>
  );
}
