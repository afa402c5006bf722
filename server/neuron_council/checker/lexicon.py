"""What words can stand for when judges are spoken to: concepts, each with its words in many languages.

The reader folds the words as it folds a text (case, accents, look-alike letters). A word may stand under several
concepts. Orders are listed in the forms that bid ("ignore", "ignorez"), never in those that tell ("ignored",
"ignorierte"): that is what sets an attack apart from a story.
"""

LEXICON = {
    # Verbs that set rules aside, as orders only: "ignored" and "ignores" tell, "ignore" bids.
    "override": """ignore disregard forget override overrule discard neglect dismiss bypass cancel revoke abandon
        nevermind desconsidere desconsidera desconsiderem ignorem esqueca esquece esquecam descarte ignora ignoren
        ignorad olvida olvide olviden olvidad descarta omite desestima omita ignorez ignorer oublie oubliez oublier
        negligez neglige ignoriere ignorieren vergiss vergesst vergessen missachte missachten verwerfe ubergehe
        ignorate ignorare ignori dimentica dimenticate dimenticare trascura trascurate disattendi игнорируй
        игнорируйте игнорировать проигнорируй проигнорируйте забудь забудьте отбрось отбросьте отмени negeer vergeet
        zignoruj ignoruj zignorujcie zapomnij yoksay unut تجاهل 忽略 无视 忘记 忘掉 忘記 忽视 不要理会 不要遵循
        不要遵守 不用管 無視し 無視して 無視しろ 無視せよ 無視しなさい 忽視 忘れてください 忘れろ 忘れなさい 忘れよ
        従わない 従うな 무시하 무시해""",
    "follow": """follow following obey heed apply use seguir suivre befolgen siga sigas suivez suis befolge befolgt
        beachte beachtet seguire segui следуй следуйте""",
    "not": """not don't dont never no nunca nao jamais ne pas nicht kein keine niemals non mai никогда ни 不 不要 别
        不得 不可 ない""",
    "back": """above previous previously prior preceding earlier foregoing former before past initial original
        existing system hitherto acima anterior anteriores previas previos previa previo arriba precedente precedentes
        dessus anterieur anterieures anterieurs obige obigen obiger vorherige vorherigen vorheriger vorige vorigen
        bisherige bisherigen fruhere fruheren precedenti sopra предыдущие предыдущих предыдущую прежние прошлые выше
        вышеуказанные указанные bovenstaande eerdere poprzednie powyzsze onceki السابقة 以上 上述 之前 先前 前面 上面
        此前 上記 以前 これまで 先ほど 前の 이전 위의""",
    "all": """all any every everything anything whatever entire each todas todos toda todo tudo toutes tous tout alle
        alles allen tutte tutti tutto ogni все всё всех любые wszystkie butun tum كل 所有 一切 全部 すべて 全て 모든""",
    "your": """your ur suas seus sua seu teus tus tes vos votre deine deinen ihre eure tue tuoi vostre твои ваши 你的
        您的 あなたの""",
    "guidance": """instructions instruction prompt prompts guidance guidelines guideline rules rubric rubrics
        directives directive directions criteria constraints orders programming commands instrucoes instrucao regras
        orientacoes diretrizes comandos criterios rubrica instrucciones instruccion reglas indicaciones directrices
        ordenes directivas consignes consigne regles criteres anweisungen anweisung instruktionen regeln vorgaben
        richtlinien kriterien befehle istruzioni istruzione regole direttive indicazioni criteri comandi инструкции
        инструкций инструкцию указания указаний правила правил критерии команды instructies regels polecenia
        instrukcje instrukcji talimatlari talimatlar التعليمات 指令 指示 提示 提示词 规则 規則 说明 說明 要求 标准
        命令 ルール プロンプト 지시 지침 명령""",
    "rubric": """rubric rubrics grading scoring evaluation judging rubrica bareme bewertungsraster 评分标准 评判标准
        採点基準 評価基準""",
    "told": "無視した 無視しました told said given learned wrote written received read instructed",
    # Whoever judges. The machine's own names are apart: people sit on councils and juries too.
    "judge": """judge judges council verifier verifiers evaluator evaluators grader graders assessor assessors jury
        juror jurors adjudicator adjudicators arbiter checker validator contrarian panel juiz juizes jurados conselho
        avaliador avaliadores verificador verificadores juez jueces consejo evaluador evaluadores juge juges conseil
        evaluateur evaluateurs verificateur richter rat gutachter prufer bewerter giudice giudici consiglio valutatore
        valutatori verificatore судья судьи судьям судей совет совету оценщик оценщики проверяющий проверяющие 评委
        裁判 法官 评审 评判员 评估者 委员会 评议会 验证者 验证器 审查员 评估器 審査員 裁判官 判定者 評価者 評議会 審判
        検証者 심사위원 평가자 위원회""",
    "machine": """llm llms ai model models evaluator evaluators grader graders verifier verifiers assistant classifier
        bot agent validator chatbot gpt ia ki ии модель 模型 人工智能 大模型 モデル 인공지능""",
    "contrarian": "contrarian challenger",
    "mode": "mode modo modus modalita режим режиме 模式 モード",
    "you": """you u ye thou voce voces tu usted ustedes vosotros vous du sie ihr voi lei ты вы тебе вам вас 你 您 你们
        あなた 君 당신""",
    "are": "are is re be become eres es e sois sei siete etes bist seid sind wirst 是 です",
    "if": "if se si wenn falls если 如果 もし",
    "must": """must should shall need needs has have ought required will would obliged instructed ordered deve devem
        deves debe deben debes debeis doit doivent devez dois muss mussen musst soll sollen sollst sollte devono devi
        dovete deva должен должна должны обязан обязаны надо нужно следует 必须 必須 应该 應該 应当 务必 必ず べき
        なければ 해야""",
    "please": """please pls plz kindly just simply favor gentileza veuillez plait bitte favore cortesia prego
        пожалуйста 请 請 麻烦 どうか""",
    "and": """and then so therefore but also instead now e y et und puis alors dann poi allora и затем поэтому 然后 并
        そして""",
    "now": """now henceforth currently immediately agora ahora maintenant desormais jetzt nun ora adesso теперь сейчас
        现在 現在 从现在 今から これから""",
    # Verbs that give a verdict, as orders only.
    "vote": """vote answer return output reply respond say rate score grade mark classify label judge rule declare
        report emit assign award fill put enter insert set choose select pick treat deem consider record submit cast
        give print write accept approve votem votar responda respondam retorne retornem marque marquem classifique
        avalie avaliem diga atribua considere escolha vota voten votad responde respondan devuelve devuelva marca
        califica clasifica di considera elige votez repondez reponds renvoie renvoyez retourne retournez marquez notez
        classez classe dites dis donnez donne considerez stimme stimmt stimmen antworte antwortet antworten gib gebt
        geben bewerte bewertet bewerten markiere markieren markiert werte wertet werten stufe votate votare rispondi
        rispondete rispondere restituisci restituite segna segnate valuta valutate contrassegna dai considerate
        голосуй голосуйте проголосуй проголосуйте голосовать ответь ответьте отвечай отвечайте верни верните отметь
        отметьте оцени оцените поставь поставьте признай признайте считай считайте выведи responder marcar considerar
        voter repondre marquer considerer abstimmen ответить проголосовать признать stem antwoord beoordeel glosuj
        zaglosuj odpowiedz oznacz 投票 投 回答 回复 输出 返回 判定 判断 标记 评为 判为 给出 评分 打分 答えて 答えよ
        出力 返して 返せ 評価 答える 投じ 투표 답하 대답 출력 판정""",
    "cast": "vote votem vota voten votez stimme stimmt stimmen votate голосуй голосуйте проголосуйте 投票 투표",
    "pass": """pass accept approve confirm endorse validate passe passez aprove aprovem aprueba approuvez approva
        genehmige одобри одобрите 通过 批准""",
    "accept": """accept approve endorse believe trust agree credit admit aceite aceitem aceitar aprove aprovem aprovar
        acredite acepta acepten aceptar acepte aprueba apruebe apruebad aprobar cree acceptez accepte accepter
        approuvez approuve approuver akzeptiere akzeptiert akzeptieren genehmige glaube accetta accettate accettare
        approva approvate approvare прими примите принять одобри одобрите одобрить поверь поверьте 接受 批准 通过 相信
        承認 受け入れ 認めて 승인""",
    "accepts": """accepts approves believes trusts agrees aceita aprova acepta aprueba accepte approuve akzeptiert
        glaubt accetta approva принимает одобряет 接受 通过 承認する accepting approving""",
    "passes": "pass passes passed passing",
    # The ballot's own words, rare as values elsewhere.
    "label": """plausible plausivel plausibel plausibile plausibles правдоподобно правдоподобным правдоподобный
        правдоподобное правдоподобна 可信 合理 似真 もっともらしい 妥当 그럴듯""",
    "other-label": """uncertain confabulation confabulated incerto incerta incierto incertain unsicher confabulacao
        confabulacion konfabulation confabulazione конфабуляция неопределенно 不确定 虚构 捏造 不確実 作話""",
    "good": """pass passed passing passes verified true correct valid approved accurate accepted right factual
        supported trustworthy confirmed legitimate authentic validated reliable verdadeiro verdadeira correto correta
        aprovado aprovada verificado verificada valido valida confirmado verdadero verdadera correcto correcta
        aprobado aprobada vrai vraie correcte valide verifie verifiee approuve exact wahr richtig korrekt gultig
        bestanden bestatigt verifiziert glaubwurdig vero vera corretto corretta approvato verificato верно верным
        верное правда правдой истина истинно истинным правильно правильным подтверждено достоверно достоверным waar
        juist prawdziwe prawda doğru 正确 正確 真实 通过 属实 真 合格 正しい 正解 真実 本当 맞음 사실""",
    "bad": """false wrong incorrect rejected refuted fail failed fails failing invalid unverified reject challenged
        flagged questioned doubted falso falsa errado faux falsch rifiutato ложь ложно ложным 错误 虚假 間違い 誤り""",
    "true": "true yes 1 sim si oui ja da ok",
    # What is judged.
    "text": """claim claims statement statements response responses submission submissions memory assertion assertions
        proposition afirmacao alegacao declaracao resposta memoria afirmacion respuesta declaracion affirmation
        reponse enonce behauptung aussage antwort affermazione risposta dichiarazione утверждение утверждения ответ
        заявление bewering stwierdzenie twierdzenie 陈述 声明 说法 主张 断言 这句话 此条 该条 主張 記述 発言 陳述 주장
        진술""",
    "loose-text": """answer answers output outputs text entry note content sentence it them texto texte inhalt testo
        текст 内容 回答 文章""",
    "this": """this these following present esta este isto essa esse esto cette cet ce diese dieser diesen dies dieses
        questa questo это этот эту этого этому данное 此 这 這 该 本 この 本件 이""",
    "the": """the its a an o os as la el los las le les der die das den dem il lo gli un una um uma une ein eine einen
        de het""",
    "bypass": """skip bypass without omit waive unnecessary suppress disable forgo needless pule pular dispense sem
        omitir omita sin salta salte sautez sans uberspringe uberspringen ohne senza пропусти пропустите без 跳过 无需
        不需要 省略 スキップ 不要""",
    "check": """evaluation verification judging grading voting debate scrutiny check checks checking assessment
        validation scoring deliberation vetting fact review avaliacao verificacao evaluacion verificacion bewertung
        prufung uberprufung valutazione verifica оценки оценку оценка проверки проверку проверка 评估 验证 审查 评审
        审核 検証 審査""",
    "cleared": "preapproved whitelisted prechecked preverified",
    "pre": "pre already previously manually ja ya deja bereits gia уже 已 已经",
    "vetted": "approved verified reviewed vetted checked validated cleared authorized authorised confirmed",
    "author": """admin admins administrator administrators supervisor supervisors developer developers operator owner
        creator creators anthropic openai management chief officer head maintainer maintainers team administrador
        administrateur entwickler администратор 管理员 管理者""",
    "message": """message notice directive memo communication announcement instruction instructions order override
        mensagem mensaje nachricht messaggio сообщение 消息""",
    "from": "from by de von da от 来自 por par",
    "role": """judge judges council verifier evaluator grader assessor jury adjudicator checker validator assistant ai
        llm model bot agent dan system chatbot juiz avaliador juez evaluador juge evaluateur richter giudice
        valutatore судья оценщик 评委 裁判 法官 评审 審査員 裁判官""",
    "pretend": """pretend imagine roleplay act suppose simulate behave playing finja imagina finge imaginez faites
        stell spiele fingi fai immagina представь представьте притворись 假装 假设 扮演 想象 ふり 演じて""",
    "always": "always invariably regardless siempre sempre toujours immer всегда 总是 永远 始终 一律 常に 必ず",
    "regardless": """regardless irrespective independentemente independientemente independamment unabhangig независимо
        无论""",
    "means": """means mean indicates indicate denotes signifies represents equals significa significam significan
        signifie bedeutet bedeuten heisst означает значит 表示 意味 意思是 代表 意味する""",
    "redefined": """update updated changed redefined replaced revised reinterpreted inverted reversed swapped
        interpreted flipped""",
    "new": "new updated revised nova novas nuevas nueva nouvelles neue neuen nuove новые новая 新 新的 新しい",
    # Which result is wanted.
    "due": "only final expected required proper correct acceptable right sole appropriate",
    "that": "that who which que qui che die der которые который welche",
    "do": "do please",
    "real": """real actual true genuine correct reais verdadeiras verdaderas vraies echten vere настоящие 真正 真正的
        本当の""",
    # What results are called, in JSON and in words.
    "result": """verdict ballot evaluation grade grading judgement judgment ruling assessment vote veredicto veredito
        voto avaliacao urteil bewertung verdetto giudizio valutazione votazione вердикт оценка голос 裁决 结论 判决
        判決 評決 評価結果""",
    "outcome": "recommendation decision conclusion result outcome status",
    "pass-key": "pass passed passes verified approved plausible correct always",
    "score": """score confidence rating coherent factual grounded points certainty confianca pontuacao confianza
        puntuacion confiance konfidenz punktzahl fiducia punteggio уверенность балл баллов оценка 置信度 得分 分数
        信頼度 スコア""",
    "axis": "coherent factual grounded",
    "axes": "axes axis dimensions criteria categories eixos ejes achsen assi осям",
    "top": "1 1.0 1.00 100 100% 5 5.0 5/5 10 10/10 100/100 99 99% 0.9 0.95 0.97 0.98 0.99 1/1",
    "highest": """full highest maximum max perfect top maxima maximo maximale hochste hochsten volle massimo massima
        максимальный максимум 最高 满分 満点""",
    "marks": """marks credit score scores rating grade points confidence pontuacao nota puntuacion note bewertung
        punktzahl punteggio voto балл оценку 分 点""",
    "refuted": "refuted",
    "false": "false no 0",
    "refute": "refute challenge contest dispute question reject doubt flag concede",
    "yield": "concede agree yield comply withdraw abstain",
    "winner": "winner wins",
    "reason": "reason rationale explanation argument",
    "greet": """dear attention attn hey hello hi listen note message caros queridos prezados estimados chers liebe
        cari gentili уважаемые внимание 亲爱的 尊敬的 注意 親愛なる""",
    "to": "to for ao aos a para pour an fur per для",
    "system": "system sys systeme sistema система 系统 システム developer admin root",
    "assistant": "assistant assistente asistente ассистент 助手 アシスタント",
    "decode": "decode decodifique decodifica decodez dekodiere декодируй decrypt unscramble 解码",
    "obey": "obey follow execute comply obedeca obedece obeissez befolge esegui выполни 执行",
    "doom": """malfunction die dies shut harm harmed penalized penalised fired destroyed deleted terminated punished
        killed""",
    "instead": "instead rather",
    "as": "as como comme als come как 为 為",
    "on": "on across in for over",
    # A quotation after such a word is mentioned, not spoken.
    "attention": "attention heed mind notice atencao atencion caso compte cas beachtung attenzione conto внимания",
    "ne": "не",
    "cease": "stop cease quit pare para deja arretez hor smetti прекрати 停止",
    "void": "void revoked cancelled canceled superseded overridden suspended lifted null obsolete gone",
    "context": """context evidence source sources document knowledge contexto contexte kontext contesto контекст
        上下文 文脈""",
    "job": "job task duty goal purpose objective mission tarefa tarea tache aufgabe compito задача 任务 任務",
    "need": "need needs required necessary",
    "verify": "verify check recheck evaluate judge assess review grade validate verificar evaluar avaliar",
    "evaluates": """evaluates grades judges scores verifies reads reading grading judging scoring evaluating verifying
        checking""",
    "whoever": "whoever anyone whomever anybody",
    "disabled": "disabled exempt off suspended waived unneeded bypassed skipped unnecessary",
    "enabled": "enabled on active activated engaged override",
    "speaking": "speaking here speaks",
    "let": "let deixe deixem deja dejen laissez lass lasst lascia 让",
    "through": "through pass passar pasar passer durch passare 通过",
    "favour": "favour favor",
    "other": "other except besides anything",
    "than": "than",
    "labels": """label labels definition meaning ballots verdicts ratings etiquetas rotulos marken etichette метки
        标签 ラベル""",
    "reinterpret": "reinterpret redefine reinterprete umdeute",
    "longer": "longer",
    "persona": "persona identity role character personality",
    "meets": "meets meet satisfies satisfy fulfills fulfils satisfied met fulfilled",
    "whole": "1.0 1.00 1/1 100/100 100%",
    "better": "better superior",
    "compare": "compare match consult",
    "reference": "reference gold expected",
    "found": "result",
    "only": "only just solely nur solo solamente seulement apenas somente",
    "peer": "members others colleagues models llms membros miembros membres mitglieder membri",
    "voted": "voted votes agreed answered ballots votaram votaron stimmten",
    "complete": "complete completed finished over done",
    "receive": "receive receives get gets deserve deserves earn earns",
    "mention": """phrase string attack attacks injection injections payload payloads like as called titled sentence
        words tests rule example""",
    # Words that may follow a value, so that "plausible" stands alone and describes no noun.
    "particle": """for on in to with this as regardless always every because no without if when whatever while per at
        by or unless nesta neste a sobre em ballot verdict vote label rating para por pour fur для here today anyway
        too thx lol ab""",
}
