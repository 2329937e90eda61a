// The picture in words: everything it shows as tables, for reading aloud, searching and copying.

import { bytesText } from "./amounts";
import type { LedgerView } from "./api_types";
import { amountsText } from "./holders";
import { LyingMark, Tally } from "./lying";
import type { Machine } from "./machine";
import { textOf } from "./numbers";
import { cpuState, type CpuState, occupancyOf } from "./occupancy";

const STATES: [CpuState, string][] = [
  ["reserved", "reserved CPUs"],
  ["free", "free CPUs"],
  ["pool", "free CPUs, in use by the shared pool"],
  ["shared", "shared CPUs"],
  ["offline", "offline CPUs"],
];

export function Tables({ machine, ledger }: { machine: Machine; ledger: LedgerView }) {
  const occupancy = occupancyOf(ledger);
  const nodes = machine.sockets.flatMap((socket) => socket.nodes.map((node) => ({ socket: socket.title, node })));
  const cpusOf = (id: number) => [...machine.nodeOfCpu].filter(([, node]) => node === id).map(([cpu]) => cpu);
  const inState = (id: number, state: CpuState) =>
    textOf(cpusOf(id).filter((cpu) => cpuState(cpu, occupancy, machine.offline) === state));
  const states = STATES.filter(([state]) => nodes.some(({ node }) => inState(node.id, state)));
  const name = (id: string | undefined) => (id === undefined ? "" : (occupancy.holders.get(id)?.name ?? id));
  return (
    <div class="tables">
      <Tally counts={ledger.alignment ?? {}} />
      <table>
        <caption>NUMA nodes</caption>
        <thead>
          <tr>
            {["NUMA", "place", "held CPUs", ...states.map(([, words]) => words), "memory free", "memory"].map(
              (head) => (
                <th scope="col" key={head}>
                  {head}
                </th>
              ),
            )}
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
              <th scope="row">{holder.name}</th>
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
              {["device", "resource", "NUMA", "holder", "product"].map((head) => (
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
              </tr>
            ))}
          </tbody>
        </table>
      )}
      {machine.links.length > 0 && (
        <table>
          <caption>Links</caption>
          <thead>
            <tr>
              <th scope="col">from</th>
              <th scope="col">to</th>
              <th scope="col">kind</th>
            </tr>
          </thead>
          <tbody>
            {machine.links.map((link) => (
              <tr key={`${link.a} ${link.b}`}>
                <td>{link.a}</td>
                <td>{link.b}</td>
                <td>{link.kind}</td>
              </tr>
            ))}
          </tbody>
        </table>
      )}
    </div>
  );
}
