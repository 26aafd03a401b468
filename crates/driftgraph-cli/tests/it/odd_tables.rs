//! `check` on tables with something odd in them: what was left out or joined, and what is doubtful.

use insta::assert_snapshot;

use crate::Sandbox;

#[test]
fn what_is_joined_merged_or_left_out_is_told() {
    let sandbox =
        Sandbox::with("a.csv", "series,time,x,y\na,0,1,2\na,1,2,1\na,2,1,3\nb,0,,\nb,1,,\nb,2,,\n");
    sandbox.write("b.csv", "series,time,x,y\na,3,2,2\na,4,1,2\na,4,2,4\n");
    assert_snapshot!(sandbox.run("check a.csv b.csv --duplicates mean"), @r"
    exit 0
    --- stdout
    1 series of 5 rows, 2 variables, 5 rows in all
    time in column `time`, series in `series`
    time 0 to 4, median gap 1 (unit as in the file)
    0 of 10 cells missing (0.0 %)

     variable  observed  missing  min  mean  max
     x         5         0        1    1.5   2
     y         5         0        1    2.2   3

    note: 1 series has rows in more than one file, which were joined
    note: series `b` holds no value, left out
    note: merged 1 row into others of the same series and time
    note: left out 3 rows without any value
    usable, no warnings
    ");
}

#[test]
fn columns_that_say_little_are_told_with_a_remedy() {
    let mut table = "time,n,level,twin,temperature,rare\n".to_owned();
    let values = [3, 1, 4, 1, 5, 9, 2, 6, 5, 3, 5, 8, 9, 7, 9, 3, 2, 3, 8, 4, 6, 2, 6, 4];
    for (row, level) in values.iter().enumerate() {
        let is_unseen = [3, 9, 15, 20].contains(&row);
        let temperature = if is_unseen { -999 } else { 10 + values[23 - row] };
        let rare = [2, 11, 17].contains(&row).then(|| values[row * 5 % 24].to_string());
        let rare = rare.unwrap_or_default();
        let line = format!("{},{},{level},{level},{temperature},{rare}\n", 2 * row, row + 1);
        table.push_str(&line);
    }
    let sandbox = Sandbox::with("columns.csv", table);
    assert_snapshot!(sandbox.run("check columns.csv"), @r"
    exit 0
    --- stdout
    1 series of 24 rows, 5 variables, 24 rows in all
    time in column `time`, no series column
    time 0 to 46, median gap 2 (unit as in the file)
    21 of 120 cells missing (17.5 %)

     variable     observed  missing  min   mean    max
     n            24        0        1     12.5    24
     level        24        0        1     4.792   9
     twin         24        0        1     4.792   9
     temperature  24        0        -999  -154.2  19
     rare         3         21       5     6       7

    warning: `rare` has 3 values in 24 rows, too few to learn its edges from
    warning: `n` counts the rows: leave it out with `--ignore n` if it is a row number
    warning: `temperature` is -999 in 4 cells, far outside of its other values: if that says that nothing was measured, pass `--missing -999`
    warning: `twin` is equal to `level` in every cell, so that their effects cannot be told apart: leave one out with `--ignore twin`
    usable, 4 warnings
    ");
}
