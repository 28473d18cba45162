# The rules of mdl (https://github.com/markdownlint/markdownlint) that documents are held to: all but those that tools/docs/check.py
# covers, and those about a layout that is not ours.
all
exclude_rule 'MD002' # a first heading of level 1: templates of issues have none
exclude_rule 'MD013' # the length of lines: check.py
exclude_rule 'MD024' # headings of the same text: rules have the same parts
exclude_rule 'MD026' # headings may end with a full stop or a question mark
exclude_rule 'MD033' # HTML, for pictures in light and dark
exclude_rule 'MD046' # fenced blocks only: what else is indented belongs to a list
exclude_rule 'MD041' # a first line that is a heading: the same as MD002
rule 'MD007', :indent => 2
rule 'MD029', :style => :ordered
