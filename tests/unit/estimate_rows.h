/* SPDX-License-Identifier: MIT */
/*
 * estimate_rows.h - texts and their tokens: class, tokens in cl100k_base, tokens in o200k_base, text.
 *
 * Made by tests/estimate/table.mjs with gpt-tokenizer 4.0.0; not to be changed by hand.
 */
/* clang-format off */
    {"prose", 50, 50,
     "The night shift had been quiet until the third alarm, and even then nobody hurried, because the firs"
     "t two had been false.\n"
     "Somebody put the kettle on while the older engineer read the graph aloud, as if the numbers would ch"
     "ange when spoken to."},
    {"prose", 46, 46,
     "When you borrow from a budget you should know who else is about to borrow from it; otherwise two hon"
     "est people can spend\n"
     "the same coin twice and each will swear, quite truthfully, that it was there a moment ago."},
    {"prose", 54, 51,
     "\"It isn't broken,\" she said. \"It's waiting for you to tell it what you want, and you've been talk"
     "ing to the wrong door.\"\n"
     "He laughed, which surprised them both, and wrote the address down again on the back of an old ferry "
     "ticket."},
    {"prose", 51, 48,
     "Photosynthesis, crystallography and thermodynamics rarely meet in one paragraph, yet a greenhouse ro"
     "of brings together\n"
     "all three: refractive indices, carotenoid absorption, convective boundary layers and the misanthropi"
     "c Mr. Throckmorton."},
    {"prose", 19, 18,
     "hi, can u pls fix this asap\?\? its not working again lol... thx!!!"},
    {"prose", 27, 27,
     "SHOUTING IN CAPITAL LETTERS IS EXPENSIVE: EVERY WARNING, NOTICE AND HEADLINE COSTS MORE THAN IT SAYS"
     "."},
    {"markdown", 87, 87,
     "# Release notes\n"
     "\n"
     "- **Added:** a `--dry-run` flag for *every* command (see [the guide](guide.md)).\n"
     "- **Fixed:** totals that were off by one when a window closed exactly at midnight.\n"
     "\n"
     "| name  | used | left |\n"
     "|-------|-----:|-----:|\n"
     "| alpha |  120 |   80 |\n"
     "| beta  |   17 |  183 |"},
    {"c", 110, 111,
     "static int take_slot(struct table *t, uint32_t hash, uint64_t *out)\n"
     "{\n"
     "    for (unsigned i = 0; i < t->size; i++) {\n"
     "        uint64_t word = atomic_load_explicit(&t->slot[(hash + i) & t->mask], memory_order_acquire);\n"
     "        if ((word & SLOT_BUSY) == 0 && try_claim(t, i, word | SLOT_BUSY))\n"
     "            return *out = i, 0;\n"
     "    }\n"
     "    return -ENOSPC;\n"
     "}"},
    {"python", 106, 107,
     "def merge_intervals(intervals: list[tuple[int, int]]) -> list[tuple[int, int]]:\n"
     "    \"\"\"Joins what overlaps; the input need not be sorted.\"\"\"\n"
     "    merged: list[tuple[int, int]] = []\n"
     "    for low, high in sorted(intervals):\n"
     "        if merged and low <= merged[-1][1]:\n"
     "            merged[-1] = (merged[-1][0], max(merged[-1][1], high))\n"
     "        else:\n"
     "            merged.append((low, high))\n"
     "    return merged"},
    {"javascript", 76, 77,
     "export const useDebouncedValue = (value, delayMs = 250) => {\n"
     "  const [debounced, setDebounced] = useState(value);\n"
     "  useEffect(() => {\n"
     "    const timer = setTimeout(() => setDebounced(value), delayMs);\n"
     "    return () => clearTimeout(timer);\n"
     "  }, [value, delayMs]);\n"
     "  return debounced;\n"
     "};"},
    {"json", 61, 62,
     "{\"id\":\"req_7f3a\",\"model\":\"small-1\",\"usage\":{\"input_tokens\":1532,\"output_tokens\":87,\"c"
     "ached\":null},\"ok\":true,\n"
     " \"choices\":[{\"index\":0,\"finish_reason\":\"stop\",\"message\":{\"role\":\"assistant\",\"content\""
     ":\"Done.\"}}]}"},
    {"json", 76, 76,
     "{\n"
     "    \"name\": \"reserve\",\n"
     "    \"parameters\": {\n"
     "        \"type\": \"object\",\n"
     "        \"properties\": {\n"
     "            \"tenant\": {\"type\": \"string\", \"description\": \"Who pays for the call\"},\n"
     "            \"tokens\": {\"type\": \"integer\", \"minimum\": 1}\n"
     "        },\n"
     "        \"required\": [\"tenant\", \"tokens\"]\n"
     "    }\n"
     "}"},
    {"html", 68, 68,
     "<div class=\"card card--wide\" id=\"totals\"><h2>Totals</h2>\n"
     "  <ul><li><a href=\"/usage\?from=2026-01-01&amp;to=2026-01-31\">January</a></li><li>&nbsp;</li></ul>"
     "\n"
     "</div>"},
    {"sql", 69, 69,
     "SELECT t.name, SUM(u.tokens) AS total FROM usage u JOIN tenants t ON t.id = u.tenant_id\n"
     "WHERE u.at >= '2026-11-01' AND u.model NOT IN ('a', 'b') GROUP BY t.name HAVING SUM(u.tokens) > 1000"
     "000 ORDER BY 2 DESC;"},
    {"shell", 70, 70,
     "set -euo pipefail\n"
     "for f in \"$dir\"/*.log.gz; do zcat -- \"$f\" | awk -F'\\t' '$3 > 0.5 { n[$1]++ } END { for (k in n)"
     " print k, n[k] }'; done | sort -rn >\"$out\""},
    {"rust", 67, 67,
     "impl<'a, T: Clone + Send + 'static> Iterator for Windows<'a, T> {\n"
     "    type Item = &'a [T];\n"
     "    fn next(&mut self) -> Option<Self::Item> { self.at.checked_add(self.len).and_then(|end| self.ite"
     "ms.get(self.at..end)) }\n"
     "}"},
    {"log", 111, 111,
     "2026-11-30T17:46:55.123Z INFO  [worker-07] pid=48213 POST /v1/messages 200 1532ms in=10345 out=87 ca"
     "che=9216 ip=203.0.113.42\n"
     "2026-11-30T17:46:55.981Z WARN  [worker-12] pid=48219 retry 2/5 after 1.25s: upstream said 429 (limit"
     "=200000, used=195869)"},
    {"trace", 101, 98,
     "Traceback (most recent call last):\n"
     "  File \"/srv/app/worker/main.py\", line 214, in handle_request\n"
     "    reservation = limiter.reserve(scopes, estimate=estimate_tokens(prompt))\n"
     "  File \"/srv/app/worker/limits.py\", line 88, in reserve\n"
     "    raise BudgetExceeded(f\"{scope} is over its limit of {limit:,} tokens\")\n"
     "limits.BudgetExceeded: tenant:acme is over its limit of 1,000,000 tokens"},
    {"diff", 77, 76,
     "@@ -118,7 +118,9 @@ static void drain(struct queue *q)\n"
     "-    while (q->head != q->tail)\n"
     "-        pop(q);\n"
     "+    /* Somebody may push while we drain: look at the tail once. */\n"
     "+    for (uint32_t end = q->tail; q->head != end;)\n"
     "+        pop(q);"},
    {"csv", 87, 88,
     "region,tenant,day,input,output,cost\n"
     "eu-west-1,acme,2026-11-29,10345678,87213,41.237119\n"
     "us-east-2,globex,2026-11-29,998877,12003,3.104500\n"
     "ap-south-1,initech,2026-11-30,0,0,0.000000"},
    {"latex", 77, 75,
     "\\begin{equation} \\label{eq:bound}\n"
     "  \\hat{\\mu}_n \\leq \\frac{1}{n}\\sum_{i=1}^{n} x_i + \\sqrt{\\frac{\\log(1/\\delta)}{2n}}, \\qqua"
     "d \\forall\\, n \\geq 1.\n"
     "\\end{equation}"},
    {"yaml", 62, 62,
     "services:\n"
     "  limiter:\n"
     "    image: registry.example/limiter:1.4.2\n"
     "    environment:\n"
     "      - TIER_DEFAULT=free\n"
     "    deploy: {replicas: 3, resources: {limits: {cpus: '0.50', memory: 256M}}}"},
    {"table", 49, 51,
     "+--------------------+----------+----------+\n"
     "| tenant             |   tokens |     cost |\n"
     "+====================+==========+==========+\n"
     "| acme               |  195,869 |    $1.23 |\n"
     "+--------------------+----------+----------+"},
    {"spaces", 16, 16,
     "a                                b\n"
     "\t\tc\t\t\td    e  f\n"
     "\n"
     "\n"
     "\n"
     "g          h"},
    {"german", 71, 48,
     "Die Nachtschicht war ruhig, bis der dritte Alarm kam. Der Geschäftsführer der Überwachungsgesellscha"
     "ft verlangte eine\n"
     "Aufschlüsselung der Verbrauchsobergrenzen für sämtliche Bundesländer, einschließlich der Rückvergütu"
     "ngsansprüche."},
    {"french", 64, 57,
     "L'équipe de nuit n'avait rien remarqué d'étrange avant la troisième alerte. « C'est déjà réglé », ré"
     "pondit-il, bien que\n"
     "personne n'eût encore vérifié les dépenses prévues à l'échéance du mois d'août."},
    {"spanish", 57, 47,
     "El turno de noche estuvo tranquilo hasta la tercera alarma; después, ¿quién iba a dormir\? Mañana re"
     "visaremos los\n"
     "límites de cada región y el presupuesto del año próximo, según lo acordado con la dirección."},
    {"portuguese", 56, 44,
     "A operação não começou às três horas, como estava previsto, porque ninguém tinha as chaves do salão."
     " Amanhã haverá outra\n"
     "reunião sobre a distribuição dos orçamentos e as restrições de cada equipe."},
    {"italian", 55, 50,
     "Il turno di notte è stato tranquillo fino al terzo allarme; poi qualcuno si è chiesto perché il cont"
     "atore dell'anno\n"
     "scorso continuasse a crescere, benché nessuno l'avesse più toccato."},
    {"dutch", 66, 44,
     "De nachtploeg had niets gemerkt tot het derde alarm. Daarna werden de bevoegdheden van de verzekerin"
     "gsmaatschappij\n"
     "opnieuw bekeken, omdat niemand wist wie de onderhoudswerkzaamheden had goedgekeurd."},
    {"swedish", 66, 54,
     "Nattskiftet var lugnt tills det tredje larmet gick. Därefter ville försäkringsbolaget veta varför gr"
     "änserna för\n"
     "förbrukningen hade överskridits trots att någon redan hade sänkt dem i går."},
    {"finnish", 96, 74,
     "Yövuoro oli hiljainen kolmanteen hälytykseen asti. Sen jälkeen vakuutusyhtiö halusi tietää, miksi ku"
     "lutuksen ylärajoja ei\n"
     "ollut noudatettu, vaikka käyttöliittymässä näkyi selvästi varoitus kuukausittaisesta enimmäismääräst"
     "ä."},
    {"polish", 90, 69,
     "Nocna zmiana przebiegała spokojnie aż do trzeciego alarmu. Później ktoś zapytał, dlaczego licznik wc"
     "iąż rośnie, chociaż\n"
     "wszystkie ograniczenia zostały już wcześniej obniżone, a księgowość potwierdziła wcześniejsze rozlic"
     "zenie."},
    {"czech", 98, 69,
     "Noční směna byla klidná až do třetího poplachu. Potom se někdo zeptal, proč se počítadlo stále zvyšu"
     "je, přestože všechny\n"
     "limity byly už dávno sníženy a účetní oddělení potvrdilo předchozí vyúčtování."},
    {"hungarian", 95, 81,
     "Az éjszakai műszak csendes volt a harmadik riasztásig. Utána valaki megkérdezte, miért növekszik még"
     " mindig a számláló,\n"
     "holott a korlátozásokat már régen csökkentették, és a könyvelés is jóváhagyta az előző elszámolást."},
    {"turkish", 86, 59,
     "Gece vardiyası üçüncü alarma kadar sakindi. Sonra biri, sınırlar çoktan düşürülmüş olmasına rağmen s"
     "ayacın neden hâlâ\n"
     "yükseldiğini sordu; muhasebe bölümü de önceki ödemeyi onaylamış değildi."},
    {"indonesian", 62, 46,
     "Giliran malam berjalan tenang sampai alarm ketiga. Setelah itu seseorang bertanya mengapa penghitung"
     "nya terus bertambah,\n"
     "padahal semua batasan sudah diturunkan dan bagian keuangan telah menyetujui pembayaran sebelumnya."},
    {"swahili", 75, 54,
     "Zamu ya usiku ilikuwa tulivu hadi kengele ya tatu ilipolia. Baadaye mtu mmoja aliuliza kwa nini hesa"
     "bu inaendelea\n"
     "kuongezeka ingawa viwango vyote vilikuwa vimeshapunguzwa tangu wiki iliyopita."},
    {"vietnamese", 108, 62,
     "Ca trực đêm rất yên tĩnh cho đến khi chuông báo động thứ ba vang lên. Sau đó có người hỏi vì sao bộ "
     "đếm vẫn tiếp tục\n"
     "tăng, mặc dù mọi giới hạn đã được hạ xuống từ lâu và phòng kế toán đã xác nhận khoản thanh toán trướ"
     "c."},
    {"icelandic", 100, 68,
     "Næturvaktin var róleg þangað til þriðja viðvörunin barst. Þá spurði einhver hvers vegna teljarinn hæ"
     "kkaði ennþá, þótt\n"
     "búið væri að lækka öll mörkin og bókhaldið hefði þegar samþykkt fyrri greiðslu."},
    {"russian", 111, 57,
     "Ночная смена прошла спокойно до третьей тревоги. Потом кто-то спросил, почему счётчик всё ещё растёт"
     ", хотя ограничения\n"
     "давно снижены, а бухгалтерия подтвердила предыдущий расчёт и закрыла промежуточную ведомость."},
    {"ukrainian", 109, 67,
     "Нічна зміна минула спокійно до третьої тривоги. Потім хтось запитав, чому лічильник і досі зростає, "
     "хоча всі обмеження\n"
     "вже давно знижено, а бухгалтерія підтвердила попередній розрахунок."},
    {"bulgarian", 110, 66,
     "Нощната смяна беше спокойна до третата тревога. После някой попита защо броячът продължава да расте,"
     " въпреки че всички\n"
     "ограничения отдавна са намалени и счетоводството е потвърдило предишното плащане."},
    {"greek", 190, 75,
     "Η νυχτερινή βάρδια ήταν ήσυχη μέχρι τον τρίτο συναγερμό. Ύστερα κάποιος ρώτησε γιατί ο μετρητής συνε"
     "χίζει να ανεβαίνει,\n"
     "αν και όλα τα όρια είχαν ήδη μειωθεί και το λογιστήριο είχε εγκρίνει την προηγούμενη πληρωμή."},
    {"hebrew", 142, 59,
     "משמרת הלילה הייתה שקטה עד האזעקה השלישית. אחר כך מישהו שאל מדוע המונה ממשיך לעלות, אף על פי שכל המגב"
     "לות כבר הופחתו\n"
     "והנהלת החשבונות אישרה את התשלום הקודם."},
    {"arabic", 116, 53,
     "كانت المناوبة الليلية هادئة حتى الإنذار الثالث. ثم سأل أحدهم لماذا يستمر العداد في الارتفاع، مع أن ج"
     "ميع الحدود قد خُفضت\n"
     "منذ زمن وأن قسم المحاسبة وافق على الدفعة السابقة."},
    {"persian", 124, 52,
     "شیفت شب تا هشدار سوم آرام بود. سپس کسی پرسید چرا شمارنده همچنان بالا می‌رود، با این‌که همهٔ محدودیت‌"
     "ها مدت‌ها پیش کاهش یافته\n"
     "و حسابداری پرداخت قبلی را تأیید کرده است."},
    {"hindi", 179, 56,
     "रात की पाली तीसरी चेतावनी तक शांत रही। फिर किसी ने पूछा कि गिनती अब भी क्यों बढ़ रही है, जबकि सारी स"
     "ीमाएँ पहले ही घटा दी गई थीं\n"
     "और लेखा विभाग ने पिछला भुगतान मंज़ूर कर दिया था।"},
    {"bengali", 151, 39,
     "তৃতীয় সতর্কবার্তা পর্যন্ত রাতের পালা শান্ত ছিল। তারপর কেউ জিজ্ঞেস করল, সব সীমা অনেক আগেই কমানো হলেও"
     " গণনা কেন এখনও বাড়ছে।"},
    {"tamil", 200, 46,
     "மூன்றாவது எச்சரிக்கை வரை இரவுப் பணி அமைதியாக இருந்தது. பிறகு ஒருவர், எல்லா வரம்புகளும் குறைக்கப்பட்ட"
     " பின்னும் எண்ணிக்கை ஏன் உயர்கிறது என்று கேட்டார்."},
    {"telugu", 214, 41,
     "మూడవ హెచ్చరిక వరకు రాత్రి పని ప్రశాంతంగా సాగింది. తరువాత ఒకరు అన్ని పరిమితులు తగ్గించినా లెక్క ఎందుక"
     "ు పెరుగుతోందని అడిగారు."},
    {"thai", 130, 55,
     "กะกลางคืนเงียบสงบจนกระทั่งสัญญาณเตือนครั้งที่สามดังขึ้น จากนั้นมีคนถามว่าทำไมตัวนับยังคงเพิ่มขึ้น ทั"
     "้งที่ขีดจำกัดทั้งหมดถูกลดลงนานแล้ว"},
    {"georgian", 181, 33,
     "ღამის ცვლა მშვიდად მიდიოდა მესამე განგაშამდე. შემდეგ ვიღაცამ იკითხა, რატომ იზრდება მრიცხველი ისევ."},
    {"armenian", 200, 38,
     "Գիշերային հերթափոխը հանգիստ էր մինչև երրորդ ահազանգը։ Հետո ինչ-որ մեկը հարցրեց, թե ինչու է հաշվիչը դ"
     "եռ աճում։"},
    {"amharic", 179, 135,
     "የሌሊት ፈረቃው እስከ ሦስተኛው ማስጠንቀቂያ ድረስ ጸጥ ያለ ነበር። ከዚያ አንድ ሰው ቆጣሪው ለምን እንደሚጨምር ጠየቀ።"},
    {"khmer", 153, 61,
     "វេនយប់ស្ងប់ស្ងាត់រហូតដល់សំឡេងរោទ៍ទីបី។ បន្ទាប់មកមានគេសួរថាហេតុអ្វីបានជាចំនួននៅតែកើនឡើង។"},
    {"burmese", 220, 62,
     "ညဆိုင်းသည် တတိယအချက်ပေးသံအထိ တိတ်ဆိတ်နေခဲ့သည်။ ထို့နောက် တစ်စုံတစ်ဦးက ရေတွက်မှု ဘာကြောင့် တက်နေသေးသန"
     "ည်းဟု မေးသည်။"},
    {"chinese", 70, 47,
     "夜班一直很安静，直到第三次警报响起。后来有人问，既然所有限额早已下调，财务部也确认了上一笔付款，为什么计数器仍在上涨？"},
    {"chinese", 84, 53,
     "夜班一直很安靜，直到第三次警報響起。後來有人問，既然所有限額早已調降，會計部也確認了上一筆付款，為什麼計數器還在攀升？"},
    {"chinese", 50, 20,
     "你好世界你好世界你好世界你好世界你好世界你好世界你好世界你好世界你好世界你好世界"},
    {"japanese", 96, 72,
     "夜勤は三度目の警報が鳴るまで静かだった。その後、上限はとっくに引き下げられ、経理部も前回の支払いを承認したのに、なぜカウンターがまだ増え続けるのかと誰かが尋ねた。"},
    {"japanese", 44, 30,
     "コンピューターのメモリーにアクセスするプログラムをデバッグするエンジニアのためのガイドブック"},
    {"korean", 94, 55,
     "야간 근무는 세 번째 경보가 울릴 때까지 조용했다. 그 뒤에 누군가가 모든 한도를 이미 낮췄고 회계 부서도 지난 결제를 승인했는데 왜 숫자가 계속 올라가는지 물었다."},
    {"fullwidth", 69, 61,
     "ＦＵＬＬＷＩＤＴＨ　ｔｅｘｔ　ｃｏｓｔｓ　ｍｏｒｅ，　１２３４５６７８９０！　（ｙｅｓ）"},
    {"emoji", 111, 76,
     "Great work 🎉🎉🎉 see you tomorrow 👋🏽 with the family 👨‍👩‍👧‍👦 and the flags 🇩🇪🇫🇷🇯🇵 ❤️‍🔥"
     " 👩🏿‍🚀 🧑‍💻 ✅❌⚠️ 😀😂🤣😍🥺🙏💯🔥"},
    {"symbols", 86, 88,
     "∀x ∈ ℝ: x² ≥ 0 ⇒ √(x²) = |x|; α·β ≈ ½γ, ∑ᵢ aᵢ ≤ ∞, A ∪ B ⊂ C → D ⟷ E ± 5 µm · 20 °C, “quotes” — dash"
     "es – and … dots • bullets ™ © € £ ¥ §"},
    {"boxes", 56, 53,
     "┌──────────┬───────┐\n"
     "│ name     │ total │\n"
     "├──────────┼───────┤\n"
     "│ alpha    │ ▓▓▓░░ │\n"
     "└──────────┴───────┘"},
    {"mixed", 64, 50,
     "用户 user_42 在 2026-11-30 调用了 model “claude-x” 共 1,234 次，费用 $56.78。Ошибка 429: попробуйте позже 🙏 (re"
     "try-after: 20s)"},
    {"prose", 21, 21,
     "Can you summarise this meeting in three bullet points and tell me who promised what\? Please be brie"
     "f."},
    {"prose", 50, 49,
     "The patient was given metoclopramide and acetaminophen; gastroesophageal reflux and hypokalaemia had"
     " been ruled out, and\n"
     "the anaesthesiologist, Dr. Venkataraman, agreed with the recommendation."},
    {"prose", 69, 68,
     "Dear Ms. Okonkwo, thank you for your letter of 3 October. We have checked the invoice (no. 2026-1187"
     ") and you are right:\n"
     "the discount of 12.5 % was not applied. We will send you a corrected copy, and we are sorry for the "
     "trouble that it caused."},
    {"go", 91, 91,
     "func (s *Store) Take(ctx context.Context, key string, n int64) (ok bool, err error) {\n"
     "\ts.mu.Lock()\n"
     "\tdefer s.mu.Unlock()\n"
     "\tif left := s.limit[key] - s.used[key]; left < n {\n"
     "\t\treturn false, fmt.Errorf(\"take %q: want %d, left %d\", key, n, left)\n"
     "\t}\n"
     "\ts.used[key] += n\n"
     "\treturn true, nil\n"
     "}"},
    {"java", 68, 72,
     "public final class BudgetRegistry implements AutoCloseable {\n"
     "    private final ConcurrentHashMap<String, AtomicLong> remaining = new ConcurrentHashMap<>();\n"
     "\n"
     "    public boolean tryReserve(String tenantId, long tokens) {\n"
     "        return remaining.computeIfAbsent(tenantId, id -> new AtomicLong(DEFAULT_LIMIT)).addAndGet(-t"
     "okens) >= 0;\n"
     "    }\n"
     "}"},
    {"typescript", 81, 81,
     "interface UsageEvent { readonly tenant: string; tokens: number; at\?: Date; }\n"
     "type ByTenant = Record<UsageEvent[\"tenant\"], number>;\n"
     "export function total(events: readonly UsageEvent[]): ByTenant {\n"
     "  return events.reduce<ByTenant>((sum, e) => ({ ...sum, [e.tenant]: (sum[e.tenant] \?\? 0) + e.token"
     "s }), {});\n"
     "}"},
    {"css", 48, 48,
     ".card--wide > .title:hover, .card[data-state=\"open\"] { color: #1a2b3c; margin: 0 auto 1.5rem; tran"
     "sition: opacity .2s ease-in-out; }"},
    {"html-german", 35, 28,
     "<p>Die Verbrauchsobergrenze wurde überschritten.</p><p>Bitte wenden Sie sich an die Geschäftsstelle."
     "</p>"},
    {"json-german", 40, 29,
     "{\"titel\": \"Verbrauchsobergrenze\", \"beschreibung\": \"Die Aufschlüsselung der Rückvergütung für "
     "sämtliche Bundesländer\"}"},
    {"romanian", 43, 36,
     "Tura de noapte a fost liniștită până la a treia alarmă, apoi cineva a întrebat de ce contorul crește"
     " în continuare."},
    {"croatian", 42, 32,
     "Noćna smjena bila je mirna do trećeg alarma, a zatim je netko upitao zašto brojač još uvijek raste."},
    {"tagalog", 41, 31,
     "Tahimik ang panggabing trabaho hanggang sa ikatlong babala. Pagkatapos ay may nagtanong kung bakit t"
     "umataas pa rin ang bilang."},
    {"latin", 33, 29,
     "Vigilia nocturna quieta erat usque ad tertium tumultum; deinde aliquis quaesivit cur numerus crescer"
     "et."},
    {"marathi", 95, 40,
     "रात्रीची पाळी तिसऱ्या इशाऱ्यापर्यंत शांत होती. मग कोणीतरी विचारले की मोजणी अजूनही का वाढत आहे."},
    {"urdu", 124, 44,
     "رات کی شفٹ تیسرے انتباہ تک خاموش رہی۔ پھر کسی نے پوچھا کہ گنتی اب بھی کیوں بڑھ رہی ہے، حالانکہ حدیں "
     "پہلے ہی کم کر دی گئی تھیں۔"},
    {"punjabi", 132, 47,
     "ਰਾਤ ਦੀ ਪਾਲੀ ਤੀਜੀ ਚੇਤਾਵਨੀ ਤੱਕ ਸ਼ਾਂਤ ਰਹੀ। ਫਿਰ ਕਿਸੇ ਨੇ ਪੁੱਛਿਆ ਕਿ ਗਿਣਤੀ ਕਿਉਂ ਵਧ ਰਹੀ ਹੈ।"},
    {"gujarati", 136, 32,
     "રાતની પાળી ત્રીજી ચેતવણી સુધી શાંત રહી. પછી કોઈએ પૂછ્યું કે ગણતરી હજી કેમ વધી રહી છે."},
    {"kannada", 162, 32,
     "ಮೂರನೇ ಎಚ್ಚರಿಕೆಯವರೆಗೆ ರಾತ್ರಿ ಪಾಳಿ ಶಾಂತವಾಗಿತ್ತು. ನಂತರ ಎಣಿಕೆ ಏಕೆ ಹೆಚ್ಚುತ್ತಿದೆ ಎಂದು ಯಾರೋ ಕೇಳಿದರು."},
    {"malayalam", 181, 30,
     "മൂന്നാമത്തെ മുന്നറിയിപ്പ് വരെ രാത്രി ജോലി ശാന്തമായിരുന്നു. പിന്നെ എണ്ണം എന്തുകൊണ്ട് കൂടുന്നു എന്ന് ഒ"
     "രാൾ ചോദിച്ചു."},
    {"sinhala", 184, 57,
     "තුන්වන අනතුරු ඇඟවීම තෙක් රාත්‍රී වැඩමුරය නිහඬව පැවතුණි. පසුව ගණන තවමත් ඉහළ යන්නේ ඇයිදැයි කෙනෙක් ඇසීය"
     "."},
    {"lao", 107, 93,
     "ກະກາງຄືນງຽບສະຫງົບຈົນກວ່າສັນຍານເຕືອນຄັ້ງທີສາມດັງຂຶ້ນ."},
    {"chinese", 59, 36,
     "臺灣的夜班工程師昨日宣布，將擴大補助各部門的預算，並於下個月開始檢討所有上限。"},
    {"korean", 56, 34,
     "안녕하세요, 오늘 회의는 오후 세 시로 변경되었으니 참고 부탁드립니다. 예산 한도는 다음 주에 다시 논의하겠습니다."},
    {"hex", 92, 93,
     "0951ad1df600398f88cd491eaf96efaa5c7d1a538d70e90953703edcbe8e17abaea8969823d09a922d142299cd6540bdf1c4"
     "03deba3f4a1cf8b81757db4d79bf43ef7f14419ffb95d35b0c14ea25b1b0"},
    {"base64", 208, 202,
     "JWgbOs1JdHPv6cRfqdfvvAdyP5w8O67iu5i31pJPm+V+FspZXopzfl6ghX+0hzbEjr0is1uk/EregNRiUDDGeamdCGc8E7L1puWe"
     "zSiKobRNM+J8httqteirzEKT3UL3+BIqK/mAhCINH+Rm+oodMzuJ0TJ768bIjjLFy76Fr4OdSPqfryyh7XK2FyXyN18qYWdxpIeb"
     "E/k8tvSpoNM16M20mg16w+scdY/swkSBtWKsYgKC242YJRyBXfjSkWsdyrx4HRW2m8AsThSsTywMol+fYuh5n/8vXOzUuOq8vzG7"},
    {"uuids", 71, 71,
     "e1a60da0-8abd-acf1-a8c1-c05f5af189cb 922fd843-7f7a-bbd9-d0c2-237bc737102a\n"
     "53a9a2e7-6338-c9b0-09c4-7697347da79a"},
    {"figures", 56, 56,
     "3587 27 97 9290 7290072 1423286 579976 38328 4516545 37 6632 6 95264 2156530 3341 386 149908 0 66119"
     " 58"},
    {"words", 48, 45,
     "this borrow otherwise be not The you we truthfully all older a the not and given convective budget C"
     "APITAL SAYS the IN IS it AND had indices Somebody this the quiet waiting acetaminophen down isn't wa"
     "s send pls you've which"},
    {"pictures", 88, 59,
     "🔥👋⏰🍕🚗🍕🍏🔥😂🌍👋🧭🥺🏠👋🍕🍕😂🪐📦👋🍕🏠🌍🎉🎉🏠🚗🐱🔒"},
    {"hex", 89, 90,
     "0f2c25befe2ecdadc6714ded6615866dd01a984f135084712fe738e503cfc5b9b1f81bdf38723b35885d33fd9179f40582e6"
     "9f5f4da4f209d1b33e053e13334163d402ef62d6b9dd3a29290ddbcd739e"},
    {"base64", 218, 212,
     "E1byY13Po3voGA5iITIfC0RFGoH3qyeaBWKQgY//Z9yKCHWWu8fFxgC9g1xhOBiWPHI+3LY/bSF8OeDak1G8xbCFKSscBg3itIX9"
     "fOAPs3n/pG/up/8CBmTeD/2mFPb+aZ2LWh5wOsaRV9MS/YDYgBzGN8RAZOQqY6kpeECgAxczQEoGlBa+Qsk+mK8q8dVmlrjX24ag"
     "BGvlcbVKa6A0QnlGQn2kw8pyDsyVd7DwTrSn4CSegD36fy1eKUBu0sOPx+QjVO8Q1gE5j5eD1c9Q/NWGTRcIHrD7uf/BdxEAmmHb"},
    {"uuids", 73, 72,
     "f0b7b546-e97e-de62-ba77-c0df44d08bad b78b1ebd-e476-7b1d-e9c3-a1cec75090c0\n"
     "6f4f6813-ef8f-08b7-280f-72bc3ae1b5f2"},
    {"figures", 56, 56,
     "74 88147 4322273 609 968474 135 3 8599569 630343 5003 217219 26 942941 1 8873050 55044 699709 958951"
     " 93802 828207"},
    {"words", 52, 50,
     "a EVERY an from can metoclopramide and acetaminophen Can The numbers read SAYS corrected and again b"
     "oundary quite was because letter to convective the IS had laughed tell three are ago should together"
     " will one down you gastroesophageal the should"},
    {"pictures", 81, 62,
     "⏰🍕💡🪐😀⏰📦💡🧭💯😀🍕🐱💯🪐🍏🌍🙏🙏🙏😂😀🔒🪐💯🪐🥺🏠🪐⏰"},
    {"hex", 88, 88,
     "05f69e60054b61cb132430bb3da32d3065a7273aa93f2edafa5d420e591063c7c457a1054d24ece8d2864450748ca95e2408"
     "2ae0e019a9f7bace45a390f9eee484b9a4ba840d670691f747f6bc66247b"},
    {"base64", 221, 209,
     "+TWJi+4VyoQiTliknJyQUpEY9XdyHpARUzxqKH1wM7PX/iDTFRVYEaKbfTkP7Ppo6idbChCa2feb7w0RzoIxEcfuRf78/FiPxiYb"
     "KLfVxS9wHO1gyQLZUtEQU6j4TKsF3yjsjEMf7WsUj7G/AHeS1P5DmmaF3gFMNR+MLOJ6VqrJP5ntePBblB+FIhhhrGujzBp9DnXl"
     "/N6OLGYsMn1zlCTY6t4Ov7nJpBk+LR0f5BZiXkZ7KO4c1U478JfLDBwAvQvOjLhqDFJH0SrZYGLVV2ttO0WXoWJGFwKvLUeFdYI8"},
    {"uuids", 72, 72,
     "0fc86eed-5730-00d4-cc2d-bf603ebf7c70 cdd64516-5983-2c41-02b4-2f10b88a2f65\n"
     "8be53d4e-5ad5-57cd-475a-8fc14154c359"},
    {"figures", 58, 58,
     "518760 4062068 402948 3 69660 1568984 227 810 141 1963969 2 38545 3 1039695 2759 7791918 4249510 802"
     "082 8700 472"},
    {"words", 55, 52,
     "broken aloud Okonkwo thank We gastroesophageal convective hi the IS for the it change truthfully tic"
     "ket and refractive hurried each bullet you lol tell and a and three SHOUTING for asap then each work"
     "ing THAN Throckmorton boundary and a sorry"},
    {"pictures", 86, 60,
     "🐱🐱🍏🎉🚗🥺🔥🙏🔒💡🌍🔒🧭🧭💡🙏😀🔥🥺🐱🪐🏠😂🍕🧭⏰🍕🐱🍕🧭"},
