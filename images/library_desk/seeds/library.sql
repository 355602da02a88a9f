-- A small library on a Monday. What day it is stands in a table: nothing here depends on the clock.
create table today (day date primary key);
create table book (id integer primary key, title text not null unique, author text not null, copies integer not null);
create table member (id integer primary key, name text not null, blocked boolean not null default false);
create table loan (
    id integer generated always as identity primary key,
    book_id integer not null references book,
    member_id integer not null references member,
    lent_on date not null,
    due_on date not null,
    unique (book_id, member_id)
);
create table hold (
    id integer generated always as identity primary key,
    book_id integer not null references book,
    member_id integer not null references member,
    placed_on date not null
);
insert into today values ('2026-03-02');
insert into book values
    (1, 'The Left Hand of Darkness', 'Ursula K. Le Guin', 2),
    (2, 'The Dispossessed', 'Ursula K. Le Guin', 1),
    (3, 'Kindred', 'Octavia E. Butler', 1),
    (4, 'Solaris', 'Stanislaw Lem', 3),
    (5, 'Roadside Picnic', 'Arkady and Boris Strugatsky', 1);
insert into member values (1, 'Ada', false), (2, 'Ben', false), (3, 'Chloe', true), (4, 'Dan', false);
insert into loan (book_id, member_id, lent_on, due_on) values
    (3, 2, '2026-02-20', '2026-03-06'),
    (4, 2, '2026-02-20', '2026-03-06'),
    (1, 4, '2026-02-25', '2026-03-11');
