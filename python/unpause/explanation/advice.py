"""Suggestions about a congestion tree: the first rule of docs/explain.md that applies.

Every rule looks at what the scenario sets and at what the run measured: nothing is advised that is
there already, or that names a key as set which is not.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from unpause.data import capacity
from unpause.data.result import Result, Run
from unpause.data.setting import Setting, at_rate, in_bytes, in_ns
from unpause.explanation import measured, memory, outages, shaped
from unpause.explanation.hashed import Hashed
from unpause.explanation.measured import Port
from unpause.explanation.trees import Tree, every_stop
from unpause.text import plural, rate, size, time, were

#: Laws and markings with a threshold below which nothing is marked, key `kmin` of their table.
_WITH_KMIN = ("dcqcn", "dctcp-rate", "red")
#: Models of switches with a key `speedup`.
_WITH_SPEEDUP = ("cioq", "input-queued")
#: A NIC that holds PAUSE for this many times what one frame asks for has a storm: a watchdog that
#: looks once in that time, and acts after two looks, finds it.
_STORM = 4
#: Utilisation from which on a link counts as full.
_FULL = 0.95
#: A link with more than this part of its rate is not what congestion is about.
_NEARLY_WHOLE = 0.9


def of_run(result: Result, run: Run) -> Callable[[Tree], str]:
    """Gives advice on trees of a run, one sentence each."""
    adviser = _Adviser(result, run)
    return adviser.of_tree


class _Adviser:
    def __init__(self, result: Result, run: Run) -> None:
        self.run = run
        self.set = Setting(result, run)
        self.ports = measured.ports(run)
        flows = run.columns("flows", ["traffic", "src", "dst", "transport"])
        traffic, src, dst, transport = (it.to_pylist() for it in flows.columns)
        self.flows = set(zip(traffic, src, dst, strict=True))
        self.udp = {it for it, by in zip(traffic, transport, strict=True) if by == "udp"}
        self.hosts = {it for _, *ends in self.flows for it in ends}
        self.hashed = Hashed(run, self.set, self.ports, self.flows)
        self.rates = capacity.rates(run)
        self.law = str(self.set.scheme.get("congestion_control", "none"))
        self.lossless = self.set.get("switch.lossless", [3])

    def of_tree(self, tree: Tree) -> str:
        rules = (
            self._cycle,
            self._lost,
            self._standing,
            self._one_queue,
            self._slower_part,
            self._held_by_a_nic,
            self._pool,
            self._slowed,
            self._busy,
            self._shaped,
            self._slow_link,
            self.hashed.collision,
            self.hashed.idle_nic,
            self._failed,
            self._open_loop,
            self._no_control,
            self._uncontrolled,
            self._kmin,
        )
        for rule in rules:
            if (advice := rule(tree)) is not None:
                return advice
        return self._too_many(tree)

    def _cycle(self, tree: Tree) -> str | None:
        break_it = (
            "let no route go up again after it has come down, or move traffic that does so to "
            "another lossless priority"
        )
        if tree.kind == "cycle":
            return f"break the cycle: {break_it}"
        if self.run.row.get("deadlock_began_ns") is not None:
            return f"break the deadlock that ended this run first: {break_it}"
        return None

    def _lost(self, tree: Tree) -> str | None:
        if not tree.lost:
            return None
        model = self.set.get("switch.model", "shared-buffer")
        if tree.kind == "nic" and self.set.get("slow_receiver.buffer") is not None:
            return self._enough("slow_receiver.buffer", "is too small")
        kind = tree.why_lost.kind if tree.why_lost is not None else "headroom"
        if kind in ("ignored", "errors", "unclear", "pool"):
            return self._not_headroom(tree)
        if self.set.get("pfc.mode") == "once" and tree.expired:
            return (
                f"{tree.expired:,} of {plural(tree.pauses, 'PAUSE')} expired before the ingress "
                'had drained: set [pfc] mode = "standard", which repeats PAUSE'
            )
        if model == "pipeline":
            return "raise ingress_max of [switch.pipeline], or lower its ingress_xoff"
        if model in _WITH_SPEEDUP:
            table = model.replace("-", "_")
            return f"raise input_buffer of [switch.{table}], or lower [pfc] xoff"
        for key in ("pfc.headroom", "pfc.headroom_delays"):
            if self.set.get(key) is not None:
                return self._enough(key, "is too small")
        if self.set.get("switch.buffer") is not None:
            fault = "does not hold the headroom of all ports beyond XOFF"
            return self._enough("switch.buffer", fault)
        return "headroom_dropped_packets in table ports names the ports that lost frames"

    def _enough(self, key: str, fault: str) -> str:
        """What is wrong with a key, and how much is enough."""
        return memory.advised(self.run, key, f"{self._now(key)} {fault}")

    def _not_headroom(self, tree: Tree) -> str:
        """Frames were lost although the headroom of each port was large enough for its link."""
        assert tree.why_lost is not None
        links = ", ".join(tree.why_lost.links[:3])
        if tree.why_lost.kind == "pool":
            return self._enough("pfc.headroom_pool", "was exhausted")
        if tree.why_lost.kind == "errors":
            return f"repair {links}: no headroom is enough if XOFF frames are lost there"
        if tree.why_lost.kind == "unclear":
            keys = ("pfc.headroom", "pfc.headroom_delays", "pfc.headroom_pool")
            written = ", ".join(self._now(it) for it in keys if self.set.get(it) is not None)
            return f"repair {links}; if frames are lost without errors as well, raise {written}"
        who = ", ".join(link.partition("->")[2] for link in tree.why_lost.links[:3])
        key = "[host] ignore_pause"
        if self.set.get("host.ignore_pause") is None:
            key = "lossless or pfc_to_queue of [[override]]"
        return f"let {who} obey PAUSE ({key}): no headroom is enough for a node that does not"

    def _standing(self, tree: Tree) -> str | None:
        """A queue that stays because senders send as much as its link carries."""
        if tree.left_by is None:
            return None
        if (repair := self._failed(tree)) is not None:
            return repair
        less = f"a little less than the {rate(self._rate(tree))} of {tree.root}"
        if self._is_udp(tree):
            return f"limit the senders to {less}: UDP obeys no congestion control"
        if self._has_control():
            return f"let {self.law} hold the senders at {less}, until the queue has drained"
        return f"add a congestion_control to the scheme, or limit the senders to {less}"

    def _one_queue(self, tree: Tree) -> str | None:
        """An input has one queue for several outputs, and none of them was full."""
        key = "switch.input_queued.queues"
        if tree.kind == "nic" or self.set.get(key) != "fifo":
            return None
        stopped = {it.stopped for it in every_stop(tree.stops)}
        # Packets from a switch may be of any flow.
        of_host = [host if host in self.hosts else None for host in stopped]
        outputs = [{to for _, source, to in self.flows if at in (source, None)} for at in of_host]
        if all(len(them) < 2 for them in outputs):
            return None
        ours = [it for it in self.ports if it.node == tree.root.node]
        seconds = float(self.run.row["simulated_ns"]) / 1e9
        for port in {(it.peer, it.port): it for it in ours}.values():
            sent = sum(it.tx_bytes for it in ours if (it.peer, it.port) == (port.peer, port.port))
            if 8 * sent > _FULL * port.rate_bps * seconds:
                return None
        return (
            f"frames waited at inputs of {tree.root.node} behind others whose output was busy, "
            'while no output was full: set queues = "voq" in [switch.input_queued], which gives '
            "each output its own queue"
        )

    def _slower_part(self, tree: Tree) -> str | None:
        if tree.kind == "nic":
            said = "accepts less than its link delivers"
            if self._has_event(tree):
                said = (
                    'sent PAUSE without need ([[event]] kind = "pause-storm"), while it accepted '
                    "packets at the rate of its link"
                )
            return self._storm(tree) or f"look at {tree.root.node}: {_its_nic(tree)} {said}"
        return self._faster_switch(tree) if tree.kind == "switch" else None

    def _storm(self, tree: Tree) -> str | None:
        """A host's PAUSE had no end and stopped others, and no watchdog would have acted on it."""
        host = tree.root.node
        if not tree.victims or self.set.get("switch.watchdog") is not None:
            return None
        table = self.run.columns("causes", ["node", "peer", "priority", "time_ns", "until_ns"])
        columns = [table.column(name).to_pylist() for name in table.column_names]
        longest = max(
            (
                until - began
                for node, peer, priority, began, until in zip(*columns, strict=True)
                if (node, priority) == (host, tree.priority) and tree.root.peer in (None, peer)
            ),
            default=0.0,
        )
        # A look must see a PAUSE frame, which may come as late as the last one runs out.
        poll = self._pause_ns(host)
        if not poll or longest < _STORM * poll:
            return None
        every = f'"{math.ceil(poll / 1e3)}us"'
        return (
            f"look at {host}: {_its_nic(tree)} paused priority {tree.priority} for {time(longest)} "
            "without a break. A PFC watchdog at its port prevents this from holding up others: "
            f'[switch.watchdog] ports = "hosts", poll_interval = {every}, '
            f"detection_time = {every}, restoration_time = {every}"
        )

    def _has_event(self, tree: Tree) -> bool:
        """Whether the scenario has a PAUSE storm of the host, which then is no slow receiver."""
        host = tree.root.node
        storms = [it for it in self.set.get("event", []) if it.get("kind") == "pause-storm"]
        ends = [it.get("node", it.get("link", "")).partition("->")[0] for it in storms]
        return host in (it.strip() for it in ends)

    def _pause_ns(self, host: str) -> float:
        """For how long a PAUSE frame of a host asks (ns); 0 if that is not known."""
        written = self.set.get("pfc.pause_time")
        if isinstance(written, str):
            return in_ns(written) or 0.0
        if self.set.get("pfc.mode") == "ns3-rdma":
            return 5_000.0
        link = max((it.rate_bps for it in self.ports if it.peer == host), default=0)
        quanta = float(self.set.get("pfc.pause_quanta", 65535))
        return quanta * 512e9 / link if link else 0.0

    def _is_stopped(self, egress: Port) -> bool:
        """Whether the switch sends PAUSE of the priority of one of its egresses."""
        at = egress.node, egress.priority
        return any(it.pause_frames for it in self.ports if (it.node, it.priority) == at)

    def _faster_switch(self, tree: Tree) -> str:
        model = self.set.get("switch.model")
        if model in _WITH_SPEEDUP:
            table = model.replace("-", "_")
            return f"a higher speedup of [switch.{table}], or larger input buffers there"
        key = " (packets_per_second of [switch.pipeline])" if model == "pipeline" else ""
        return f"a faster processor in {tree.root.node}{key}, or larger input buffers there"

    def _held_by_a_nic(self, tree: Tree) -> str | None:
        """The receiver kept the root paused for most of the time that others waited for it."""
        host = tree.root.peer
        if host not in self.hosts:
            return None
        longest = max((it.paused_ns for it in every_stop(tree.stops)), default=0.0)
        paused = sum(it.paused_ns for it in self._here(tree))
        if not longest or paused < longest / 2:
            return None
        return (
            f"look at {host} first: its NIC kept {tree.root} paused for {time(paused)} of the run, "
            "which keeps the senders paused"
        )

    def _pool(self, tree: Tree) -> str | None:
        """Another queue has taken the memory on which the threshold depends."""
        if not self._is_dynamic() or tree.kind in ("nic", "switch"):
            return None
        taken = tree.kind == "pool"
        queues = [
            it
            for it in self.ports
            if ((it.node, it.peer) == tree.root if taken else it.node == tree.root.node)
            and (taken or it.priority not in self.lossless)
        ]
        largest = max(queues, key=lambda it: it.queue, default=None)
        if largest is None or not (taken or largest.queue >= 4 * max(1, tree.queue_bytes)):
            return None
        is_lossy = largest.priority not in self.lossless
        key, remedy = "switch.buffer", "raise"
        if is_lossy:
            key, remedy = "switch.lossy_queue", "lower"
        table, _, name = key.partition(".")
        remedy += f" {self._now(key) if self.set.get(key) is not None else f'[{table}] {name}'}"
        if self.set.get("pfc.reserve") is None:
            remedy += ", or give each lossless ingress memory of its own ([pfc] reserve)"
        return (
            f"the dynamic threshold fell because {'lossy ' * is_lossy}priority {largest.priority} "
            f"held {size(largest.queue)} of the shared buffer at {largest.node}->{largest.peer}: "
            f"{remedy}"
        )

    def _slowed(self, tree: Tree) -> str | None:
        """The link of the root had a lower rate than the topology's while others waited for it.

        Where that is hardly lower, and more arrived than its own rate, it is not the reason.
        """
        lowest = None
        for it in self._here(tree):
            steps = self.rates.get((it.node, it.port))
            for start, end in tree.episodes if steps is not None else ():
                slow = capacity.lowest(steps, it.rate_bps, start, end)
                lowest = min(slow, lowest or slow)
        own = self._rate(tree)
        if lowest is None or lowest >= own:
            return None
        _, arrived, _ = tree.inputs
        if lowest > _NEARLY_WHOLE * own and arrived > own:
            return None
        return (
            f"{tree.root} ran at {rate(lowest)} of its {rate(own)}: repair the link, or take it "
            "down, so that routes avoid it if there are others"
        )

    def _failed(self, tree: Tree) -> str | None:
        """A link beside the root had failed, and its traffic filled the root."""
        # What several hosts send to one fills its link with all other links up, too.
        if tree.root.peer in self.hosts or tree.kind in ("nic", "switch"):
            return None
        began = min(start for start, _ in tree.episodes)
        beside = {tree.root.node, str(tree.root.peer)} - self.hosts
        for start, links in outages.at(self.run, began, beside, self.hosts):
            return (
                f"repair {', '.join(links[:3])}, down since {time(start)}: the traffic of failed "
                f"links fills {tree.root}, and a congestion control only shares what is left"
            )
        return None

    def _shaped(self, tree: Tree) -> str | None:
        """An override lets the root send less than its link carries."""
        limit = shaped.limit(self.run, tree, self._rate(tree))
        if limit is None or tree.kind not in ("busy", "slow-link"):
            return None
        add = "" if self._has_control() or self._is_udp(tree) else ", or add a congestion_control"
        return (
            f"{tree.root} sends {rate(limit)} of its {rate(self._rate(tree))} at most (max_rate of "
            f"[[override]]), less than arrived: raise that, or limit the senders to it (rate_limit "
            f"of [[traffic]]){add}"
        )

    def _slow_link(self, tree: Tree) -> str | None:
        if tree.kind != "slow-link":
            return None
        if (repair := self._failed(tree)) is not None:
            return repair
        here = f"one sender on a faster link is enough to fill {tree.root}: limit its rate to "
        limit = rate(self._rate(tree))
        if self._has_control() or self._is_udp(tree):
            return f"{here}{limit} (rate_limit of its [[traffic]])"
        return f"{here}{limit} (rate_limit of its [[traffic]]), or add a congestion_control"

    def _busy(self, tree: Tree) -> str | None:
        if tree.kind != "busy":
            return None
        here = [it for it in self.ports if (it.node, it.peer) == tree.root]
        own = sum(it.tx_bytes for it in here if it.priority == tree.priority)
        control = self.set.get("host.control_priority", 7)
        others = [
            it
            for it in here
            if it.priority not in (tree.priority, control) and it.tx_bytes * 20 > own
        ]
        if not others:
            # No other priority uses this link much: it is about the flows themselves.
            return None
        higher = sorted({it.priority for it in others} - set(range(tree.priority)))
        together = _listed(sorted({tree.priority, *(it.priority for it in others)}))
        want = f"{together} together demand more than {tree.root} carries"
        scheduler = self.set.get("switch.scheduler", {})
        if scheduler.get("kind") == "dwrr":
            shares = scheduler.get("quanta") or scheduler.get("weights") or {}
            key = "quanta" if scheduler.get("quanta") else "weights"
            if all(self._is_stopped(it) for it in others):
                them = _listed(sorted({it.priority for it in others}))
                return (
                    f"{want}, and PAUSE stopped the senders of {them} as well: another "
                    f"share ({key} of [switch.scheduler]) only changes who is stopped; send less"
                )
            if str(tree.priority) in shares:
                return (
                    f"{want}: raise the "
                    f"share of priority {tree.priority} ({key} of [switch.scheduler], now "
                    f"{shares[str(tree.priority)]}), or send less of it"
                )
            return f"{want}: send less"
        if higher:
            return (
                f"{_listed(higher)} filled {tree.root}, where priorities are served strictly: "
                'let them take turns ([switch.scheduler] kind = "dwrr")'
            )
        return f"{want}: send less"

    def _is_udp(self, tree: Tree) -> bool:
        """Whether most of the queue is of flows that obey no congestion control."""
        share = sum(it.share for it in tree.culprits if it.traffic in self.udp)
        return share >= 0.5

    def _open_loop(self, tree: Tree) -> str | None:
        if not self._is_udp(tree):
            return None
        ours = [it for it in tree.culprits if it.traffic in self.udp]
        names = ", ".join(it.traffic for it in ours)
        share = sum(it.share for it in ours)
        return (
            f"{names} ({100 * share:.0f} % of the queue) is UDP, which obeys no congestion "
            "control: limit its rate (rate_limit of its [[traffic]]), or let fewer hosts send at a "
            "time"
        )

    def _no_control(self, tree: Tree) -> str | None:
        if self._has_control():
            return None
        marked = sum(it.marked for it in self._here(tree))
        if marked:
            return (
                f"{plural(marked, 'packet')} {were(marked)} marked at {tree.root}, and no sender "
                "reacts to marks: set a congestion_control in the scheme that does (dcqcn)"
            )
        return (
            "add a congestion_control to the scheme: under PFC alone nothing slows the senders, so "
            "PAUSE also stops whoever shares a link with them"
        )

    def _uncontrolled(self, tree: Tree) -> str | None:
        entries = self.set.traffic([it.traffic for it in tree.culprits])
        free = [str(it["name"]) for it in entries if it.get("controlled") is False]
        share = sum(it.share for it in tree.culprits if it.traffic in free)
        if share < 0.5:
            return None
        return (
            f"{', '.join(free)} ({100 * share:.0f} % of the queue) does not obey {self.law}: "
            "remove controlled = false, or limit its rate"
        )

    def _kmin(self, tree: Tree) -> str | None:
        """Marking begins at a queue that PAUSE never lets grow."""
        which = str(self.set.scheme.get("marking", self.law))
        if which not in _WITH_KMIN or any(it.marked for it in self._here(tree)):
            return None
        written = at_rate(self.set.scheme.get(which, {}).get("kmin"), self._rate(tree))
        kmin = in_bytes(written)
        if kmin is None or kmin <= tree.queue_bytes:
            return None
        ports, _, _ = tree.inputs
        return (
            f"{self.law} did not act: PAUSE held {ports} ingress ports when the queue was "
            f"{size(tree.queue_bytes)} long, and marking begins at kmin = {size(kmin)}; lower kmin "
            f"below {size(tree.queue_bytes)}"
        )

    def _too_many(self, tree: Tree) -> str:
        if tree.root.peer not in self.hosts:
            return (
                f"{tree.root} was fully used: give the fabric more capacity here, or let "
                "fewer hosts send over it at a time"
            )
        *_, senders = tree.inputs
        who = f"{senders} hosts" if senders > 1 else "the flows of this priority"
        raised = ""
        if not self._is_dynamic() and self.set.get("switch.model") is None:
            buffer = " and [switch] buffer" if self.set.get("switch.buffer") is not None else ""
            raised = f", or raise [pfc] xoff{buffer}"
        return (
            f"{who} sent to one faster than {self.law} could slow them: start fewer at a time or "
            f"below line rate{raised}"
        )

    def _is_dynamic(self) -> bool:
        """Whether PAUSE depends on the free buffer."""
        keys = ("pfc.dynamic_shift", "pfc.alpha")
        return any(self.set.get(key) is not None for key in keys)

    def _has_control(self) -> bool:
        return self.law != "none" or self.set.scheme.get("tcp") is not None

    def _here(self, tree: Tree) -> list[Port]:
        return [
            it
            for it in self.ports
            if (it.node, it.peer) == tree.root and it.priority == tree.priority
        ]

    def _rate(self, tree: Tree) -> int:
        return next((it.rate_bps for it in self.ports if (it.node, it.peer) == tree.root), 0)

    def _now(self, key: str) -> str:
        """A key with its value as the scenario writes it."""
        table, _, name = key.rpartition(".")
        return f"[{table}] {name} ({memory.written(self.set.get(key))})"


def _its_nic(tree: Tree) -> str:
    """The NIC of a host that is the root; of several, by its link."""
    return f"its NIC {tree.root}" if tree.root.peer else "its NIC"


def _listed(numbers: Sequence[int]) -> str:
    *first, last = map(str, numbers)
    return f"priorities {', '.join(first)} and {last}" if first else f"priority {last}"
