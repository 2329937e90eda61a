"""The picture of a machine. Everything but the last step is geometry in pixels, without a word of SVG.

From the bottom up, and each may use only those before it:

    palette       colours by role, light and dark
    shapes        rectangles, labels and wires, and pieces of them that are moved and put together
    nvlink        which GPUs hang at one bar, where the bars run, and the matrix for all other meshes
    tile          one NUMA node: cells of cores under their caches, rows of devices below
    arrangement   where packages and NUMA nodes stand, in the numbers of columns that fill a page best
    page          title, arranged machine, panels, notes and key
    svg           the page as SVG text, with a description in sentences for those who cannot see it
    measured      another page: what was measured between NUMA nodes

A shape has a role (`core`, `gpu`, `owner3`), never a colour: the style sheet gives the role its colour, so that one
picture serves light and dark. The hard part is `arrangement`: all rows of GPUs are aligned over the packages that
stand side by side, so that a bar can run to the right between two rows without meeting a device.
"""
