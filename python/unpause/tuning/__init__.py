"""Searching for the values of parameters that serve a goal best: `unpause tune`.

``space`` has the parameters, ``goal`` what is wanted of them, ``search`` the search, ``decision``
the comparison on seeds that the search has not seen. These four know nothing of scenarios; ``runs``
runs scenarios for them, and ``tune`` joins all. ``answered`` is the answer as data; ``answer``,
``picture`` and ``files`` present it.
"""
