"""A Python app: read a feed of lines, group it by user, rank users, count the words of the best,
render them.
"""

import sys

with open(sys.argv[1]) as file:
    feed = file.read()
posts = [line.split("\t") for line in feed.splitlines()]
users = {}
for number, (user, likes, text) in enumerate(posts):
    users.setdefault(user, []).append((int(likes), number, text))
best = sorted(users, key=lambda user: -sum(post[0] for post in users[user]))[:40]
counts = {}
for user in best:
    for _, _, text in users[user]:
        for word in text.split():
            counts[word] = counts.get(word, 0) + 1
page = "".join(f"<h2>{user}</h2>" + "".join(f"<p id={n}>{text}</p>" for _, n, text in sorted(users[user])) for user in best)
print(len(feed), len(users), max(counts, key=counts.get), len(page))
