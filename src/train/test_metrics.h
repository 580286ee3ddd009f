/* test_metrics.h - what scikit-learn 1.9.1 says.  Written by tests/golden/metrics.py: do not edit. */
#ifndef AS_TRAIN_TEST_METRICS_H
#define AS_TRAIN_TEST_METRICS_H

enum { GOLDEN_N = 90, GOLDEN_C = 4 };
static const double golden_accuracy = 0.5222222222222223;
static const double golden_top2 = 0.6888888888888889;
static const double golden_precision = 0.44982298474945537;
static const double golden_precision_each[] = {0.625, 0.7037037037037037, 0.47058823529411764, 0.0};
static const double golden_recall = 0.3819444444444445;
static const double golden_recall_each[] = {0.5555555555555556, 0.5277777777777778, 0.4444444444444444, 0.0};
static const double golden_f1 = 0.4121381886087768;
static const double golden_f1_each[] = {0.5882352941176471, 0.6031746031746031, 0.45714285714285713, 0.0};
static const double golden_confusion[] = {20.0, 6.0, 3.0, 7.0, 8.0, 19.0, 6.0, 3.0, 4.0, 2.0, 8.0, 4.0, 0.0, 0.0, 0.0, 0.0};
static const double golden_auc = 0.6980452674897119;
static const double golden_auc_each[] = {0.7183641975308641, 0.6720679012345679, 0.7037037037037037};
static const double golden_binary_auc = 0.6720679012345679;
static const double golden_binary_f1 = 0.5555555555555556;
static const double golden_r2 = -1.5541285818967179;
static const double golden_mae = 2.029166666666667;

#endif
