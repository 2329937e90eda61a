"""Answers as pages for a browser: one file each, with everything in it, in the look of the agent's page.

    style       colours and type of the agent's page, and what these pages add
    plot        lines over time as SVG
    graph       amounts over numbers as SVG
    parts       the frame of a page, its tables, and what it stands on
    fleet_run   a fleet in time: who was rejected and waited, what was reached, what is stranded
    fleet_what_if   the same with one thing changed: what it gains, and how many nodes are enough

Nothing is loaded and nothing is run: a page shows the same in a mail, on a stick and behind a proxy.
"""
