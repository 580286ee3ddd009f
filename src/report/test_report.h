/* test_report.h - what tests of reports share: facts of a synthetic run, a report in memory, counting, and a reader of XML that
 * shares no code with the writers. */
#ifndef AS_REPORT_TEST_REPORT_H
#define AS_REPORT_TEST_REPORT_H

#include "analysis/trace/test_trace.h"

#include <stdlib.h>

#include "report/report.h"

assay_env   *as_test_env(void);
assay_facts *as_test_facts(assay_env *env, as_synthetic s);
/* The same facts n times, at most three, in a format; free() it. */
char *as_test_report(assay_env *env, const assay_facts *f, size_t n, const char *format, as_write_settings s);
int   as_test_count(const char *text, const char *part);
/* A small reader: every element closes in order, attributes are quoted, no bare & or <, no control characters.  NULL: it is
 * well-formed. */
const char *as_xml_fault(const char *xml);

#endif
