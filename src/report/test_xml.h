/* test_xml.h - a reader of XML for tests that is nobody's writer. */
#ifndef AS_REPORT_TEST_XML_H
#define AS_REPORT_TEST_XML_H

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

/* A small reader: every element closes in order, attributes are quoted, no bare & or <, no control characters.  NULL: it is
 * well-formed. */
static inline const char *as_xml_fault(const char *xml)
{
    char open[16][32];
    int  depth = 0;
    for (const char *c = xml; *c; c++) {
        if ((unsigned char)*c < 0x20 && !strchr("\n\t\r", *c))
            return "a control character";
        if (*c == '&' && strncmp(c, "&lt;", 4) && strncmp(c, "&gt;", 4) && strncmp(c, "&amp;", 5) && strncmp(c, "&quot;", 6) &&
            strncmp(c, "&#39;", 5))
            return "a bare &";
        if (*c != '<')
            continue;
        const char *name = c + 1 + (c[1] == '/'), *end = c + 1;
        size_t      n = strcspn(name, " />?");
        bool        quoted = false;
        for (; *end && (quoted || *end != '>'); end++) {
            quoted ^= *end == '"';
            if (*end == '<' || (quoted && *end == '&' && !strchr(end, ';')))
                return "a bare < in a tag";
        }
        if (!*end || n >= sizeof open[0])
            return "a tag that does not end";
        if (c[1] == '/') {
            if (!depth || strlen(open[depth - 1]) != n || strncmp(open[depth - 1], name, n))
                return "an end without its begin";
            depth--;
        } else if (c[1] != '?' && end[-1] != '/') {
            if (depth == 16)
                return "too deep";
            snprintf(open[depth++], sizeof open[0], "%.*s", (int)n, name);
        }
        c = end;
    }
    return depth ? "an element that is not closed" : NULL;
}

#endif
