/* metric_test.c */
#include "base/metric.h"

#include "tests/runner/test.h"

static const char *fault(assay_metric m)
{
    const char *why = "";
    as_metric_ok(&m, &why);
    return why;
}

Test(metric, every_constructor_gives_its_kind_and_may_be_shown)
{
    assay_metric m[] = {
        as_metric_measured(5, 4, 6, 30, "ns", "tsc"),
        as_metric_counted(7, "byte", "plan"),
        as_metric_derived(2, NAN, NAN, 30, "flop/s", "flops / median"),
        as_metric_modelled(3, 2, 4, "ns", "no cache reuse"),
        as_metric_unavailable("joule", "no RAPL in this VM"),
    };
    for (int i = 0; i < 5; i++) {
        const char *why = NULL;
        expect_eq(m[i].kind, ASSAY_MEASURED + i);
        if (!as_metric_ok(&m[i], &why))
            fail("metric %d: %s", i, why);
        expect(!why);
        expect_eq(as_metric_has(&m[i]), i < 4);
    }
    expect_near(m[1].lo, 7, 0);
    expect_near(m[1].hi, 7, 0);
    expect(isnan(m[4].value));
}

Test(metric, without_a_kind_is_refused)
{
    assay_metric m = as_metric_measured(5, 4, 6, 30, "ns", "tsc");
    m.kind = ASSAY_KIND_MISSING;
    expect_str(fault(m), "no kind");
    expect(!as_metric_has(&m));
    m.kind = (assay_kind)17;
    expect_str(fault(m), "no kind");
    expect(!as_metric_ok(&m, NULL));
    expect_str(fault((assay_metric){0}), "no kind");
}

Test(metric, without_unit_source_or_reason_is_refused)
{
    expect_str(fault(as_metric_measured(5, 4, 6, 3, NULL, "tsc")), "no unit");
    expect_str(fault(as_metric_measured(5, 4, 6, 3, "", "tsc")), "no unit");
    expect_str(fault(as_metric_counted(5, "byte", NULL)), "no source");
    expect_str(fault(as_metric_derived(5, 4, 6, 3, "ns", "")), "no source");
    expect_str(fault(as_metric_unavailable("ns", NULL)), "unavailable without a reason");
    expect_str(fault(as_metric_unavailable("ns", "")), "unavailable without a reason");
}

Test(metric, that_contradicts_itself_is_refused)
{
    assay_metric m = as_metric_unavailable("ns", "no sensor");
    m.value = 0;
    expect_str(fault(m), "unavailable but with a value");
    m = as_metric_counted(5, "byte", "plan");
    m.reason = "no sensor";
    expect_str(fault(m), "a reason to be unavailable, but with a value");
    expect_str(fault(as_metric_measured(NAN, 4, 6, 3, "ns", "tsc")), "no finite value");
    expect_str(fault(as_metric_measured(INFINITY, 4, 6, 3, "ns", "tsc")), "no finite value");
    expect_str(fault(as_metric_measured(5, 4, NAN, 3, "ns", "tsc")), "half an interval");
    expect_str(fault(as_metric_measured(5, 4, INFINITY, 3, "ns", "tsc")), "half an interval");
    expect_str(fault(as_metric_measured(5, 5.1, 6, 3, "ns", "tsc")), "the value is outside its interval");
    expect_str(fault(as_metric_measured(5, 4, 4.9, 3, "ns", "tsc")), "the value is outside its interval");
}

Test(metric, kinds_have_names)
{
    expect_str(assay_kind_text(ASSAY_MEASURED), "measured");
    expect_str(assay_kind_text(ASSAY_COUNTED), "counted");
    expect_str(assay_kind_text(ASSAY_DERIVED), "derived");
    expect_str(assay_kind_text(ASSAY_MODELLED), "modelled");
    expect_str(assay_kind_text(ASSAY_UNAVAILABLE), "unavailable");
    expect_str(assay_kind_text(ASSAY_KIND_MISSING), "missing");
    expect_str(assay_kind_text((assay_kind)99), "missing");
}
