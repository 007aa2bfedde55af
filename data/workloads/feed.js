// A JavaScript app: parse a feed, group and sort it, render it, count its words, keep some of it.
const fs = require("fs");
const posts = JSON.parse(fs.readFileSync(process.argv[2], "utf8")).slice(0, 250);
const users = new Map();
for (const post of posts) {
  if (!users.has(post.user)) users.set(post.user, []);
  users.get(post.user).push(post);
}
const cards = [];
for (const [user, mine] of users) {
  mine.sort((a, b) => b.likes - a.likes);
  cards.push(`<h2>${user}</h2>` + mine.map((p) => `<p id=${p.id}>${p.text.replace(/photo/g, "<img>")}</p>`).join(""));
}
const counts = {};
for (const [word] of cards.join("").matchAll(/[a-z]+/g)) counts[word] = (counts[word] ?? 0) + 1;
console.log(users.size, Object.keys(counts).length, JSON.stringify(posts.filter((p) => p.likes > 5000)).length);
