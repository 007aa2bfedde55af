-- A small database at work: orders come in, are looked up through an index, changed, summed and partly deleted.
pragma cache_size = -24000;
create table item(id integer primary key, name text, price integer);
create table sale(id integer primary key, item integer, shop integer, amount integer, note text);
with recursive n(i) as (select 1 union all select i + 1 from n where i < 2000)
insert into item select i, 'item ' || (i * 7919 % 2003), i * 31 % 500 from n;
with recursive n(i) as (select 1 union all select i + 1 from n where i < 10000)
insert into sale select i, i * 7919 % 2000 + 1, i * 104729 % 50, i * 13 % 9 + 1, printf('%-380s', 'sale ' || i || ' of the day ' || (i % 365)) from n;
create index sale_item on sale(item);
select count(*), sum(amount * price) from sale join item on item.id = sale.item where shop = 7;
update sale set note = note || ' checked' where item % 50 = 3;
select name, sum(amount) as n from sale join item on item.id = sale.item group by item order by n desc, name limit 5;
delete from sale where id % 11 = 0;
select count(*), max(length(note)) from sale;
