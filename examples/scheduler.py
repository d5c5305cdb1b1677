"""A toy cluster scheduler: jobs arrive, wait for free hosts, and move when a NIC fails.

A job needs all of its hosts at once. Each iteration computes and then reduces its gradients over a
ring. The NIC of H3 fails at 1.5 ms: the job on it notices that an iteration takes too long, and
begins that iteration again on other hosts. Run it by ``python examples/scheduler.py``.
"""

import unpause

FABRIC = """
duration = "20ms"
topology = { builder = "single-switch", hosts = 16, rate = "100Gbps", delay = "500ns" }
scheme = [{ name = "PFC" }]
event = [{ at = "1500us", link = "H3-S0", kind = "down" }]
"""
#: Name, arrival, hosts, iterations, bytes of the gradients.
JOBS = [("A", 0, 8, 4, 4_000_000), ("B", 100_000, 8, 4, 4_000_000), ("C", 200_000, 4, 2, 1_000_000)]
COMPUTE_NS = 100_000
#: An iteration that takes longer has failed.
PATIENCE_NS = 2_000_000


class Scheduler:
    """Hands out the hosts of a fabric, in the order in which jobs arrive."""

    def __init__(self, session: unpause.Session) -> None:
        self.session = session
        self.free = set(range(len(session.hosts)))
        self.changed = session.event()
        self.log: list[str] = []

    def say(self, text: str) -> None:
        """One line of the log, with the time."""
        self.log.append(f"{self.session.now_ns / 1e3:8.1f} us  {text}")

    async def take(self, count: int) -> list[int]:
        """So many free hosts, when there are so many."""
        while len(self.free) < count:
            self.changed.clear()
            await self.changed
        hosts = sorted(self.free)[:count]
        self.free.difference_update(hosts)
        return hosts

    def give_back(self, hosts: list[int]) -> None:
        """Hosts that others may take."""
        self.free.update(hosts)
        self.changed.set()

    async def iteration(self, tag: object, hosts: list[int], size: int) -> None:
        """Every rank computes, then sends its part around the ring twice."""

        async def rank(me: int) -> None:
            await self.session.sleep(COMPUTE_NS)
            for _ in range(2 * (len(hosts) - 1)):
                after = hosts[(me + 1) % len(hosts)]
                self.session.send(hosts[me], after, size // len(hosts), tag=tag)
                await self.session.receive(hosts[me], src=hosts[me - 1], tag=tag)

        await self.session.gather(*(rank(me) for me in range(len(hosts))))

    async def job(self, name: str, at: float, count: int, iterations: int, size: int) -> None:
        """A job from its arrival to its end."""
        await self.session.sleep(at)
        hosts = await self.take(count)
        self.say(f"{name} starts on hosts {hosts[0]} to {hosts[-1]}")
        left, attempt = iterations, 0
        while left:
            attempt += 1
            work = self.iteration((name, attempt), hosts, size)
            try:
                await self.session.wait_for(work, PATIENCE_NS)
                left -= 1
            except TimeoutError:
                healthy = [host for host in hosts if await self.answers(host, hosts)]
                self.say(f"{name} lost {len(hosts) - len(healthy)} host, {left} iterations left")
                self.give_back(healthy)
                hosts = await self.take(count)
                self.say(f"{name} goes on with hosts {hosts}")
        self.say(f"{name} ends")
        self.give_back(hosts)

    async def answers(self, host: int, others: list[int]) -> bool:
        """Whether a probe from one of two other hosts arrives."""
        for other in [other for other in others if other != host][:2]:
            probe = self.session.send(other, host, 64)
            try:
                await self.session.wait_for(self.session.delivered(probe), 10_000)
                return True
            except TimeoutError:
                pass
        return False


def main() -> None:
    """Run the jobs, and print what happened."""
    with unpause.Session(FABRIC, tell=("delivered",)) as session:
        scheduler = Scheduler(session)
        session.run(*(scheduler.job(*job) for job in JOBS))
    print("\n".join(scheduler.log))


if __name__ == "__main__":
    main()
