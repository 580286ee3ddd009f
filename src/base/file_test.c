/* file_test.c */
#include "base/file.h"

#include <dirent.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/env.h"
#include "tests/runner/test.h"

static void expect_content(const char *path, const char *want)
{
    assay_env env = {0};
    as_map    map;
    expect_ok(&env, as_map_open(&env, "test", path, 0, &map));
    bool same = map.bytes == strlen(want) && !memcmp(map.data, want, map.bytes);
    as_map_close(&map);
    if (!same)
        fail("%s does not hold \"%s\"", path, want);
}

static int n_temporaries(void)
{
    int  n = 0;
    DIR *dir = opendir(as_test_dir());
    for (struct dirent *e; dir && (e = readdir(dir));)
        n += strstr(e->d_name, ".tmp") != NULL;
    if (dir)
        closedir(dir);
    return n;
}

Test(file, maps_a_whole_file_and_an_empty_one)
{
    assay_env env = {0};
    as_map    map;
    expect_ok(&env, as_file_write(&env, as_test_path("full"), "a\0b", 3));
    expect_ok(&env, as_map_open(&env, "test", as_test_path("full"), 3, &map));
    expect_eq(map.bytes, 3);
    expect_eq(memcmp(map.data, "a\0b", 3), 0);
    as_map_close(&map);
    expect(!map.data);
    expect_ok(&env, as_file_write(&env, as_test_path("empty"), NULL, 0));
    expect_ok(&env, as_map_open(&env, "test", as_test_path("empty"), 0, &map));
    expect(map.data != NULL);
    expect_eq(map.bytes, 0);
    as_map_close(&map);
}

Test(file, says_why_it_cannot_be_read)
{
    assay_env env = {0};
    as_map    map = {.bytes = 77};
    expect_fails(&env, as_map_open(&env, "npy", as_test_path("absent"), 0, &map), ASSAY_NOT_FOUND,
                 "absent: cannot open: No such file or directory");
    expect_eq(strncmp(assay_message(&env), "npy: /", 6), 0);
    expect_fails(&env, as_map_open(&env, "npy", as_test_dir(), 0, &map), ASSAY_BAD_INPUT, "it is a directory");
    expect_fails(&env, as_map_open(&env, "npy", "/dev/null", 0, &map), ASSAY_BAD_INPUT, "not a regular file");
    expect_fails(&env, as_map_open(&env, "npy", "/dev/null/x", 0, &map), ASSAY_IO, "cannot open: Not a directory");
    expect_ok(&env, as_file_write(&env, as_test_path("four"), "1234", 4));
    expect_fails(&env, as_map_open(&env, "npy", as_test_path("four"), 3, &map), ASSAY_BAD_INPUT,
                 "four: has 4 bytes; at most 3 can be read");
    expect_eq(map.bytes, 77);
}

Test(file, does_not_wait_for_a_pipe_that_nobody_writes_to)
{
    assay_env   env = {0};
    as_map      map;
    const char *path = as_test_path("pipe-in");
    expect_eq(mkfifo(path, 0600), 0);
    expect_fails(&env, as_map_open(&env, "npy", path, 0, &map), ASSAY_BAD_INPUT, "not a regular file");
}

static const char *beside(const char *owner, const char *path)
{
    static assay_env env;
    as_map           map;
    env = (assay_env){0};
    if (as_map_open_beside(&env, "test", owner, path, 0, &map) == ASSAY_OK) {
        as_map_close(&map);
        return "read";
    }
    return assay_message(&env);
}

Test(file, links_do_not_lead_out_of_the_owners_directory)
{
    assay_env env = {0};
    expect(!mkdir(as_test_path("in"), 0777) && !mkdir(as_test_path("in/deep"), 0777) && !mkdir(as_test_path("in-2"), 0777));
    expect_ok(&env, as_file_write(&env, as_test_path("in/w"), "w", 1));
    expect_ok(&env, as_file_write(&env, as_test_path("in/deep/w"), "w", 1));
    expect_ok(&env, as_file_write(&env, as_test_path("out"), "o", 1));
    expect_ok(&env, as_file_write(&env, as_test_path("in-2/w"), "o", 1));
    const char *owner = as_test_path("in/model");
    expect_str(beside(owner, as_test_path("in/w")), "read");
    expect_str(beside(owner, as_test_path("in/deep/w")), "read");
    expect(!symlink("deep/w", as_test_path("in/inner")) && !symlink("../out", as_test_path("in/outer")));
    expect(!symlink("../in-2", as_test_path("in/near")) && !symlink("/", as_test_path("in/root")) &&
           !symlink("gone", as_test_path("in/dangling")));
    expect_str(beside(owner, as_test_path("in/inner")), "read");
    expect_has(beside(owner, as_test_path("in/outer")), "it is a link to /");
    expect_has(beside(owner, as_test_path("in/outer")), "/out, which is not below the directory of ");
    expect_has(beside(owner, as_test_path("in/near/w")),
               "/in-2/w, which is not below"); /* a name that only has the directory's name as a prefix */
    expect_has(beside(owner, as_test_path("in/root/etc/hosts")), "which is not below");
    expect_has(beside(owner, as_test_path("in/dangling")), "cannot open: No such file");
    expect_has(beside(owner, as_test_path("in/deep")), "it is a directory");
}

/* A model that is itself a link may use files beside the real one. */
Test(file, an_owner_that_is_a_link_has_two_directories)
{
    assay_env env = {0};
    expect(!mkdir(as_test_path("store"), 0777) && !mkdir(as_test_path("names"), 0777));
    expect_ok(&env, as_file_write(&env, as_test_path("store/1"), "m", 1));
    expect_ok(&env, as_file_write(&env, as_test_path("store/2"), "w", 1));
    expect(!symlink("../store/1", as_test_path("names/model")) && !symlink("../store/2", as_test_path("names/w")));
    expect_ok(&env, as_file_write(&env, as_test_path("names/plain"), "w", 1));
    expect_str(beside(as_test_path("names/model"), as_test_path("names/w")), "read");
    expect_str(beside(as_test_path("names/model"), as_test_path("names/plain")), "read");
    expect_has(beside(as_test_path("names/plain"), as_test_path("names/w")), "which is not below");
}

Test(file, appears_under_its_name_only_when_committed)
{
    assay_env   env = {0};
    as_out      out;
    const char *path = as_test_path("late");
    expect_ok(&env, as_out_open(&env, path, &out));
    fputs("whole", out.file);
    fflush(out.file);
    expect_eq(access(path, F_OK), -1);
    expect_ok(&env, as_out_commit(&env, &out));
    expect(!out.file);
    expect_content(path, "whole");
    expect_eq(n_temporaries(), 0);
    as_out_abandon(&out); /* nothing remains to abandon */
    expect_content(path, "whole");
}

Test(file, keeps_the_old_one_when_abandoned)
{
    assay_env   env = {0};
    as_out      out;
    const char *path = as_test_path("old");
    expect_ok(&env, as_file_write(&env, path, "old", 3));
    expect_ok(&env, as_out_open(&env, path, &out));
    fputs("half of the n", out.file);
    as_out_abandon(&out);
    expect_content(path, "old");
    expect_eq(n_temporaries(), 0);
    as_out nothing = {0};
    as_out_abandon(&nothing);
}

Test(file, two_outputs_of_one_name_do_not_disturb_each_other)
{
    assay_env   env = {0};
    as_out      a, b;
    const char *path = as_test_path("twice");
    expect_ok(&env, as_out_open(&env, path, &a));
    expect_ok(&env, as_out_open(&env, path, &b));
    fputs("aaa", a.file);
    fputs("b", b.file);
    expect_ok(&env, as_out_commit(&env, &a));
    expect_content(path, "aaa");
    expect_ok(&env, as_out_commit(&env, &b));
    expect_content(path, "b");
}

Test(file, keeps_the_permissions_of_the_old_one_and_obeys_the_umask_for_a_new_one)
{
    assay_env    env = {0};
    struct stat  st;
    const char  *path = as_test_path("mode");
    mode_t       before = umask(027);
    assay_status status = as_file_write(&env, path, "1", 1);
    umask(before);
    expect_ok(&env, status);
    expect_eq(stat(path, &st), 0);
    expect_eq(st.st_mode & 0777, 0640);
    expect_eq(chmod(path, 0604), 0);
    expect_ok(&env, as_file_write(&env, path, "2", 1));
    expect_eq(stat(path, &st), 0);
    expect_eq(st.st_mode & 0777, 0604);
}

Test(file, replaces_what_a_link_points_to_and_not_the_link)
{
    assay_env   env = {0};
    struct stat st;
    expect_ok(&env, as_file_write(&env, as_test_path("target"), "old", 3));
    expect_eq(symlink("target", as_test_path("link")), 0);
    expect_ok(&env, as_file_write(&env, as_test_path("link"), "new", 3));
    expect_eq(lstat(as_test_path("link"), &st), 0);
    expect(S_ISLNK(st.st_mode));
    expect_content(as_test_path("target"), "new");
}

Test(file, takes_a_name_as_long_as_a_name_can_be)
{
    assay_env env = {0};
    char      name[256];
    memset(name, 'n', 255);
    name[255] = '\0';
    const char *path = as_test_path(name);
    expect_ok(&env, as_file_write(&env, path, "x", 1));
    expect_content(path, "x");
}

Test(file, says_why_it_cannot_be_written)
{
    assay_env env = {0};
    as_out    out = {.file = NULL};
    expect_fails(&env, as_out_open(&env, "", &out), ASSAY_BAD_INPUT, "the file name is empty");
    expect_fails(&env, as_out_open(&env, as_test_dir(), &out), ASSAY_IO, "cannot write: Is a directory");
    expect_fails(&env, as_out_open(&env, as_test_path("no/such"), &out), ASSAY_IO, "cannot write: No such file or directory");
    char large[5000];
    memset(large, 'x', sizeof large);
    large[sizeof large - 1] = '\0';
    expect_fails(&env, as_out_open(&env, large, &out), ASSAY_BAD_INPUT, "the file name has 4999 bytes");
    expect(!out.file);
    const char *path = as_test_path("locked");
    expect_ok(&env, as_file_write(&env, path, "1", 1));
    expect_eq(chmod(path, 0444), 0);
    if (geteuid()) { /* root can write to a read-only file */
        expect_fails(&env, as_file_write(&env, path, "2", 1), ASSAY_IO, "cannot write: Permission denied");
        expect_content(path, "1");
    }
}

Test(file, reports_a_full_device_also_when_the_error_is_old)
{
    assay_env env = {0};
    as_out    out;
    if (access("/dev/full", W_OK))
        skip("no /dev/full here");
    expect_fails(&env, as_file_write(&env, "/dev/full", "x", 1), ASSAY_IO, "/dev/full: cannot write: No space left on device");
    expect_ok(&env, as_out_open(&env, "/dev/full", &out));
    fputc('x', out.file);
    expect_eq(fflush(out.file), EOF); /* stdio has now dropped the byte, and only knows that it failed */
    expect_fails(&env, as_out_commit(&env, &out), ASSAY_IO, "/dev/full: cannot write: No space left on device");
    expect(!out.file);
}

Test(file, a_device_is_written_and_not_replaced)
{
    assay_env   env = {0};
    struct stat st;
    expect_ok(&env, as_file_write(&env, "/dev/null", "x", 1));
    expect_eq(stat("/dev/null", &st), 0);
    expect(S_ISCHR(st.st_mode));
}

Test(file, a_failed_write_leaves_the_old_one_and_no_temporary)
{
    assay_env env = {0};
    as_out    out;
    if (access("/dev/full", W_OK))
        skip("no /dev/full here");
    const char *path = as_test_path("kept");
    expect_ok(&env, as_file_write(&env, path, "old", 3));
    expect_ok(&env, as_out_open(&env, path, &out));
    expect(freopen("/dev/full", "w", out.file) != NULL); /* the disk is full from now on */
    fputs("new", out.file);
    expect_fails(&env, as_out_commit(&env, &out), ASSAY_IO, "kept: cannot write: No space left on device");
    expect_content(path, "old");
    expect_eq(n_temporaries(), 0);
}

Test(file, says_so_when_the_temporary_was_taken_away)
{
    assay_env   env = {0};
    as_out      out;
    const char *path = as_test_path("robbed");
    expect_ok(&env, as_out_open(&env, path, &out));
    expect_eq(unlink(out.temporary), 0);
    expect_fails(&env, as_out_commit(&env, &out), ASSAY_IO, "robbed: cannot write: No such file");
    expect_eq(access(path, F_OK), -1);
}

Test(file, a_dash_is_standard_output_and_stays_open)
{
    assay_env env = {0};
    as_out    out;
    expect_ok(&env, as_out_open(&env, "-", &out));
    expect(out.file == stdout);
    expect_ok(&env, as_out_commit(&env, &out));
    expect_eq(fflush(stdout), 0);
    expect_ok(&env, as_out_open(&env, "-", &out));
    as_out_abandon(&out);
    expect_eq(fflush(stdout), 0);
}

Test(file, reads_small_files_trimmed)
{
    assay_env   env = {0};
    char        buf[16] = "unset", one[1];
    const char *path = as_test_path("small");
    expect_ok(&env, as_file_write(&env, path, " \n on demand\t\n", 14));
    expect(as_file_small(path, buf, sizeof buf));
    expect_str(buf, "on demand");
    expect(as_file_small(path, buf, 7));
    expect_str(buf, "on");
    expect(as_file_small(path, one, 1));
    expect_str(one, "");
    expect(!as_file_small(path, one, 0));
    expect_ok(&env, as_file_write(&env, path, "model\0", 6));
    expect(as_file_small(path, buf, sizeof buf));
    expect_str(buf, "model");
    expect_ok(&env, as_file_write(&env, path, " \n", 2));
    expect(as_file_small(path, buf, sizeof buf));
    expect_str(buf, "");
    strcpy(buf, "old");
    expect(!as_file_small(as_test_path("absent"), buf, sizeof buf));
    expect_str(buf, "");
    expect(!as_file_small(as_test_dir(), buf, sizeof buf));
}

Test(file, says_before_work_whether_an_output_could_be_written)
{
    assay_env env = {0};
    char      path[4200];
    expect_ok(&env, as_out_check(&env, "-"));
    expect_ok(&env, as_out_check(&env, as_test_path("new.txt")));
    expect_eq(n_temporaries(), 0);
    expect(access(as_test_path("new.txt"), F_OK));
    snprintf(path, sizeof path, "%s", as_test_path("none/new.txt"));
    expect_fails(&env, as_out_check(&env, path), ASSAY_IO, "none does not exist");
    expect_fails(&env, as_out_check(&env, as_test_dir()), ASSAY_IO, "it is a directory");
    expect_fails(&env, as_out_check(&env, ""), ASSAY_BAD_INPUT, "without a name");
    expect_ok(&env, as_file_write(&env, as_test_path("there.txt"), "x", 1));
    expect_ok(&env, as_out_check(&env, as_test_path("there.txt")));
    expect_content(as_test_path("there.txt"), "x");
    snprintf(path, sizeof path, "%s", as_test_path("there.txt/new.txt"));
    expect_fails(&env, as_out_check(&env, path), ASSAY_IO, "is not a directory");
    expect_ok(&env, as_out_check(&env, "/dev/null"));
}

Test(file, says_before_work_whether_a_directory_could_be_written_into)
{
    assay_env env = {0};
    char      path[4200];
    expect_ok(&env, as_folder_check(&env, as_test_dir()));
    expect_ok(&env, as_folder_check(&env, as_test_path("later")));
    expect(access(as_test_path("later"), F_OK));
    snprintf(path, sizeof path, "%s", as_test_path("none/later"));
    expect_fails(&env, as_folder_check(&env, path), ASSAY_IO, "none does not exist");
}

Test(file, a_process_that_ends_at_once_removes_what_is_under_way)
{
    assay_env env = {0};
    as_out    one, two;
    expect_ok(&env, as_out_open(&env, as_test_path("one"), &one));
    expect_ok(&env, as_out_open(&env, as_test_path("two"), &two));
    expect_eq(n_temporaries(), 2);
    expect_ok(&env, as_out_commit(&env, &one));
    as_out_remove_all(&env);
    expect_eq(n_temporaries(), 0);
    expect(!access(as_test_path("one"), F_OK));
    as_out_abandon(&two);
    for (int i = 0; i < AS_MAX_TEMPORARIES; i++)
        expect(!env.temporaries[i]);
}

Test(file, bytes_that_were_forgotten_are_read_again)
{
    assay_env env = {0};
    as_map    map, empty = {.data = (const uint8_t *)""};
    uint8_t  *bytes = malloc(40000);
    expect(bytes != NULL);
    for (int i = 0; i < 40000; i++)
        bytes[i] = (uint8_t)(i * 7);
    expect_ok(&env, as_file_write(&env, as_test_path("pages"), bytes, 40000));
    expect_ok(&env, as_map_open(&env, "test", as_test_path("pages"), 0, &map));
    expect(!memcmp(map.data, bytes, 40000));
    as_map_forget(&map, map.data + 5000, 30000);
    as_map_forget(&map, map.data + 39999, 1);
    as_map_forget(&map, map.data + 39999, 2); /* beyond the end: not all of it is in the map, so nothing happens */
    as_map_forget(&map, bytes, 40000);        /* memory of ours must keep its values */
    as_map_forget(&empty, bytes, 40000);
    expect(!memcmp(map.data, bytes, 40000));
    for (int i = 0; i < 40000; i++)
        expect_eq(bytes[i], (uint8_t)(i * 7));
    as_map_close(&map);
    free(bytes);
}
