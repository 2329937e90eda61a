"""What people see: every answer as one record, as text for a terminal, and as a drawing.

    records/   what `-o json` prints and the API answers, one module per answer
    text/      the same values for a terminal: tables, stories, findings with their way out
    draw/      machines: for a terminal, as SVG, as a graph, as tables
    html/      answers as pages for a browser, each in one file
    json       how a record is printed: UTF-8, indented by two; or as YAML
    table      columns of equal width, how they and sentences fit a screen, and its colours
    words      small words that all of them use: sizes, ids, labels, counts

Read `records/` first: it says what an answer is. Text imports records, records import drawings, never the other way;
all of them import only values of the rooms above (decisions, advice, leases). Nothing in here decides, and nothing is
printed here: the command line and the agent do that with what they get.

The hard part is that three readers want the same answer: a person, a program that calls the command, and one that
asks the agent. A field is named once, in a record; text is made from the values that the record is made from, never
from the record. What `text/` takes from `records/` is small: types of such values, who made a pod, how a moment is
written.
"""
