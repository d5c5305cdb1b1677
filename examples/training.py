"""A toy training scheduler: steps of computing and of a ring all-reduce by 8 ranks.

Prints how long the all-reduces took beside their closed form, 2 (N - 1) T: T is what a block takes
that is alone in the fabric. Run it by ``python examples/training.py``.
"""

from pathlib import Path

import unpause

RANKS, STEPS = 8, 3
COMPUTE_NS = 1_000_000
BLOCK = 64_000_000 // RANKS  # bytes, of the gradients of each rank


async def rank(session: unpause.Session, me: int) -> list[float]:
    """One rank of the job; answers how long each of its all-reduces took."""
    took = []
    for _ in range(STEPS):
        await session.sleep(COMPUTE_NS)
        start = session.now_ns
        for _ in range(2 * (RANKS - 1)):
            session.send(me, (me + 1) % RANKS, BLOCK)
            await session.receive(me, src=(me - 1) % RANKS)
        took.append(session.now_ns - start)
    return took


def main() -> None:
    """Drive the fabric, and print what came of it."""
    with unpause.Session(Path(__file__).with_name("fabric.toml"), tell=("delivered",)) as session:
        took = session.run(*(rank(session, me) for me in range(RANKS)))
    form = 2 * (RANKS - 1) * session.result.flows["ideal_fct_ns"][0].as_py()
    for step, of_ranks in enumerate(zip(*took, strict=True), start=1):
        took_ns = max(of_ranks)
        print(f"step {step}: {took_ns:,.0f} ns, closed form {form:,.0f} ns: {took_ns / form:.4f}")


if __name__ == "__main__":
    main()
