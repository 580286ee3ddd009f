/* html_style.h - the look and the few lines of script of the HTML report, inline so that one file is the whole page. */
#ifndef AS_REPORT_HTML_STYLE_H
#define AS_REPORT_HTML_STYLE_H

extern const char as_html_style[], as_html_script[];

#endif
