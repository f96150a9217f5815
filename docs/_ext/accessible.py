# SPDX-License-Identifier: BSD-3-Clause
"""What readers with a keyboard or a screen reader need, and Sphinx, furo and breathe leave out."""

import re


def complete(page):
    # What scrolls can be scrolled by keys: blocks of code, and tables.
    page = page.replace("<pre>", '<pre tabindex="0">')
    page = page.replace('<div class="table-wrapper', '<div tabindex="0" class="table-wrapper')
    # breathe writes the same id above each struct's members.
    page = re.sub(r' id="breathe-section-title-[^"]*"', "", page)
    # A heading has a level.
    return page.replace('role="heading"', 'role="heading" aria-level="2"')


def complete_page(app, name, template, context, doctree):
    for part in {"body", "furo_navigation_tree"} & context.keys():
        context[part] = complete(context[part])


def setup(app):
    app.connect("html-page-context", complete_page, priority=900)  # after furo
    return {"parallel_read_safe": True}
