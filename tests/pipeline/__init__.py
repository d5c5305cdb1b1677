"""Random scenarios to the end of the pipe: everything drawn, written, explained, and judged.

``python -m tests.pipeline random`` takes the scenarios of vopr, ``planted`` those of
:mod:`tests.pipeline.plants`, whose congestion has a known cause. docs/vopr.md says what is judged.
"""
